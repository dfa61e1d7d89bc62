#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

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

constexpr int kMostThreads = 1024;

int default_threads() {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const char* text = std::getenv("TENON_THREADS");
  if (text == nullptr) return cores;
  int value = 0;
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, value);
  if (error == std::errc() && rest == end && value >= 1 && value <= kMostThreads) return value;
  // There is no logger yet, and this is asked once.
  std::fprintf(stderr,
               "tenon: the environment variable TENON_THREADS is '%s'; expected a number from 1 to "
               "%d; all %d threads are used\n",
               text, kMostThreads, cores);
  return cores;
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
  requested_threads = std::min(threads, kMostThreads);
}

void in_arena(FunctionRef<void()> body) {
  body();
}

void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  const int64_t pieces = std::min<int64_t>(thread_count(), count / std::max<int64_t>(grain, 1));
  if (pieces <= 1) {
    if (count > 0) body(0, count);
    return;
  }
  std::exception_ptr error;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < pieces; ++i)
    threads.emplace_back([&, i] {
      try {
        body(count * i / pieces, count * (i + 1) / pieces);
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
  requested_threads = std::min(threads, kMostThreads);
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

// The pieces of rounds. Each member of the team takes one of its own, and of others what nobody has
// begun after a while.
class Rounds {
 public:
  Rounds(int64_t pieces, FunctionRef<void(int64_t, int64_t)> body) : pieces_(pieces), body_(body) {}

  void run_member(int64_t own, int64_t rounds) {
    for (int64_t round = 0; round < rounds; ++round) {
      take(round, own);
      for (int64_t piece = 0; piece < pieces_; ++piece) await(round, piece);
    }
  }

 private:
  // Pauses before a piece that nobody has begun is taken over, and before others get the processor.
  static constexpr int kPatience = 16, kLongPatience = 1024;
  // Of a piece, on a cache line of its own.
  struct alignas(64) Count {
    std::atomic<int64_t> rounds = 0;
  };

  void take(int64_t round, int64_t piece) noexcept {
    int64_t begun = round;
    if (!begun_[piece].rounds.compare_exchange_strong(begun, round + 1)) return;
    body_(round, piece);
    done_[piece].rounds.store(round + 1, std::memory_order_release);
  }

  void await(int64_t round, int64_t piece) {
    for (int i = 0; done_[piece].rounds.load(std::memory_order_acquire) <= round; ++i) {
      if (i < kPatience)
        pause();
      else if (begun_[piece].rounds.load(std::memory_order_relaxed) == round)
        take(round, piece);
      else if (i < kLongPatience)
        pause();
      else
        std::this_thread::yield();
    }
  }

  int64_t pieces_;
  FunctionRef<void(int64_t, int64_t)> body_;
  Count begun_[kMostPieces], done_[kMostPieces];
};

}  // namespace

void parallel_rounds(int64_t rounds, int64_t pieces, FunctionRef<void(int64_t, int64_t)> body) {
  require(pieces <= kMostPieces, "rounds of {} pieces; expected at most {}", pieces, kMostPieces);
  Rounds all(pieces, body);
  // A thread that gets several members finds nothing left to do for the later ones.
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t member = begin; member < end; ++member) all.run_member(member, rounds);
  });
}

}  // namespace tenon
