#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "base/environment.h"
#include "base/error.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#ifdef TENON_THREAD_SANITIZER
#include <exception>
#include <vector>
#else
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

namespace tenon {
namespace {

constexpr int kMaxThreads = 1024;

int default_threads() {
  if (const auto threads = environment_number("TENON_THREADS", 1, kMaxThreads))
    return static_cast<int>(*threads);
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

std::atomic<int> requested_threads = 0;

}  // namespace

int thread_count() {
  if (const int requested = requested_threads; requested >= 1) return requested;
  static const int standard = default_threads();
  return standard;
}

#ifdef TENON_THREAD_SANITIZER

// TBB is not instrumented, so under ThreadSanitizer the same verbs run on std::thread.
void set_thread_count(int threads) {
  requested_threads = std::min(threads, kMaxThreads);
}

void in_arena(FunctionRef<void()> body) {
  body();
}

void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  const int64_t chunks = std::min<int64_t>(thread_count(), count / std::max<int64_t>(grain, 1));
  if (chunks <= 1) {
    if (count > 0) body(0, count);
    return;
  }
  std::exception_ptr error;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < chunks; ++i)
    threads.emplace_back([&, i] {
      try {
        body(count * i / chunks, count * (i + 1) / chunks);
      } catch (...) {
        const std::lock_guard lock(mutex);
        error = std::current_exception();
      }
    });
  for (std::thread& t : threads) t.join();
  if (error) std::rethrow_exception(error);
}

#else

namespace {

// Never destroyed: a run may be inside an arena when the number of threads changes, and worker
// threads may outlive static destruction.
struct Arenas {
  std::mutex mutex;
  std::map<int, tbb::task_arena> by_threads;
  std::unique_ptr<tbb::global_control> limit;
};
std::atomic<tbb::task_arena*> current_arena = nullptr;

tbb::task_arena& use_arena(int threads) {
  static auto* const arenas = new Arenas;
  const std::lock_guard lock(arenas->mutex);
  arenas->limit.reset();  // the least of several would hold
  arenas->limit = std::make_unique<tbb::global_control>(
      tbb::global_control::max_allowed_parallelism, static_cast<size_t>(std::max(threads, 2)));
  tbb::task_arena& arena = arenas->by_threads.try_emplace(threads, threads).first->second;
  current_arena = &arena;
  return arena;
}

tbb::task_arena& arena() {
  tbb::task_arena* const current = current_arena;
  return current != nullptr ? *current : use_arena(thread_count());
}

}  // namespace

void set_thread_count(int threads) {
  requested_threads = std::min(threads, kMaxThreads);
  use_arena(thread_count());
}

void in_arena(FunctionRef<void()> body) {
  arena().execute(body);
}

void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  if (count < 2 * grain || thread_count() == 1) return body(0, count);
  const auto loop = [&] {
    tbb::parallel_for(tbb::blocked_range<int64_t>(0, count, grain),
                      [&](const tbb::blocked_range<int64_t>& r) { body(r.begin(), r.end()); });
  };
  if (tbb::this_task_arena::current_thread_index() != tbb::task_arena::not_initialized
      && tbb::this_task_arena::max_concurrency() == thread_count())
    loop();
  else
    arena().execute(loop);
}

#endif

namespace {

// Leaves the core to its other thread for a moment.
void pause() {
#ifdef __x86_64__
  _mm_pause();
#endif
}

// The chunks of rounds. Each member of the team takes one of its own, and of others what nobody has
// begun after a while.
class Rounds {
 public:
  Rounds(int64_t chunks, FunctionRef<void(int64_t, int64_t)> body) : chunks_(chunks), body_(body) {}

  void run_member(int64_t own, int64_t rounds) {
    for (int64_t round = 0; round < rounds; ++round) {
      take(round, own);
      for (int64_t chunk = 0; chunk < chunks_; ++chunk) await(round, chunk);
    }
  }

 private:
  // Pauses before a chunk that nobody has begun is taken over, and before others get the processor.
  static constexpr int kPatience = 16, kLongPatience = 1024;
  // Of a chunk, on a cache line of its own.
  struct alignas(64) Count {
    std::atomic<int64_t> rounds = 0;
  };

  void take(int64_t round, int64_t chunk) noexcept {
    int64_t begun = round;
    if (!begun_[chunk].rounds.compare_exchange_strong(begun, round + 1)) return;
    body_(round, chunk);
    done_[chunk].rounds.store(round + 1, std::memory_order_release);
  }

  void await(int64_t round, int64_t chunk) {
    for (int i = 0; done_[chunk].rounds.load(std::memory_order_acquire) <= round; ++i) {
      if (i < kPatience)
        pause();
      else if (begun_[chunk].rounds.load(std::memory_order_relaxed) == round)
        take(round, chunk);
      else if (i < kLongPatience)
        pause();
      else
        std::this_thread::yield();
    }
  }

  int64_t chunks_;
  FunctionRef<void(int64_t, int64_t)> body_;
  Count begun_[kMaxChunks], done_[kMaxChunks];
};

}  // namespace

void parallel_rounds(int64_t rounds, int64_t chunks, FunctionRef<void(int64_t, int64_t)> body) {
  require(chunks <= kMaxChunks, "rounds of {} pieces; expected at most {}", chunks, kMaxChunks);
  Rounds all(chunks, body);
  // A thread that gets several members finds nothing left to do for the later ones.
  parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t member = begin; member < end; ++member) all.run_member(member, rounds);
  });
}

}  // namespace tenon
