/// Stops the workers when the process exits, and marks forked children.
#include "cudart/process.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "cudart/runtime.h"
#include "cudart/thread_context.h"

namespace tenon::cudart {
namespace {

std::atomic<bool> ending{false};
std::atomic<bool> forked{false};

/// How long `exit` waits for a function that a worker is in the middle of.
constexpr auto kPatience = std::chrono::seconds(10);

/// Lets each worker finish what it is in, and nothing more: what is queued is dropped.
void stop_workers() {
  if (forked.load()) return;
  ending.store(true);
  runtime().streams.for_each([](Stream& stream) { stream.wake(); });
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  runtime().streams.for_each([&](Stream& stream) {
    const bool ours = thread_context().inline_stream == &stream;
    while (!ours && stream.running() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
}

}  // namespace

bool process_is_ending() {
  return ending.load();
}

bool process_was_forked() {
  return forked.load(std::memory_order_relaxed);
}

void watch_forks() {
  pthread_atfork(nullptr, nullptr, [] { forked.store(true); });
}

void stop_workers_at_exit() {
  static std::once_flag once;
  std::call_once(once, [] { std::atexit(stop_workers); });
}

}  // namespace tenon::cudart
