/// What CUDA threads call.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "hostcuda/runtime/environment.h"
#include "hostcuda/runtime/pool.h"
#include "hostcuda/runtime/sanitizers.h"
#include "hostcuda/runtime/worker.h"
#include "tenon/hostcuda/report.h"
#include "tenon/hostcuda/stream_work.h"

namespace tenon::hostcuda {

const Block& current_block() {
  return Worker::mine().block();
}

unsigned thread_number() {
  return Worker::mine().thread_number();
}

bool next_thread(unsigned* number) {
  return Worker::mine().next_thread(number);
}

bool is_in_kernel() {
  return Worker::mine().is_running();
}

unsigned lanes_alive() {
  const Worker& worker = Worker::mine();
  return worker.is_running() ? worker.lanes_alive() : 1;
}

namespace {

Worker& worker_of(const char* what, Site site) {
  Worker& worker = Worker::mine();
  if (worker.is_running()) return worker;
  report("%s:%d: %s is for kernels", site.file, site.line, what);
  std::abort();
}

}  // namespace

Votes barrier(bool vote, Site site) {
  const Unseen unseen;
  return worker_of("a barrier", site).barrier(vote, site);
}

Exchanged exchange(unsigned mask, std::uint64_t value, Site site) {
  const Unseen unseen;
  return worker_of("what lanes of a warp do together", site).exchange(mask, value, site);
}

void* shared_memory(const void* key, const char* name, std::size_t bytes, std::size_t alignment,
                    Site site) {
  Worker& worker = worker_of("__shared__ memory", site);
  void* address = nullptr;
  {
    const Unseen unseen;
    address = worker.shared_memory().find(key, name, bytes, alignment, site);
  }
  if (!address) {
    report("%s:%d: with %s, a block has more than %zu bytes of static shared memory, in %s",
           site.file, site.line, name, SharedMemory::kMostStaticBytes, worker.where().c_str());
    worker.fail(cudaErrorInvalidValue);
  }
  return address;
}

void* dynamic_shared_memory() {
  return Worker::mine().shared_memory().dynamic();
}

void assertion_failed(const char* condition, const char* file, unsigned line,
                      const char* function) {
  Worker& worker = Worker::mine();
  if (!worker.is_running()) {
    std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, condition);
    std::abort();
  }
  report("%s:%u: assertion `%s' failed, in %s", file, line, condition, worker.where().c_str());
  worker.fail(cudaErrorAssert);
}

void trap(Site site) {
  Worker& worker = worker_of("__trap", site);
  report("%s:%d: __trap, in %s", site.file, site.line, worker.where().c_str());
  worker.fail(cudaErrorLaunchFailure);
}

void for_each_side_by_side(long count, void (*call)(void*, long), void* data) {
  struct Work {
    std::atomic<long> next{0};
    long count;
    void (*call)(void*, long);
    void* data;
  } work{{}, count, call, data};
  const long workers = std::min<long>(environment().workers(), count);
  if (count <= 0) return;
  run_side_by_side(
      static_cast<unsigned>(workers),
      [](void* shared) {
        Work& work = *static_cast<Work*>(shared);
        for (long i; (i = work.next++) < work.count;) work.call(work.data, i);
      },
      &work);
}

}  // namespace tenon::hostcuda
