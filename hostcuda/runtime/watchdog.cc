#include "hostcuda/runtime/watchdog.h"

#include <cstdlib>
#include <thread>
#include <vector>

#include "hostcuda/runtime/environment.h"
#include "hostcuda/runtime/sanitizers.h"
#include "hostcuda/runtime/service_thread.h"
#include "tenon/hostcuda/report.h"

namespace tenon::hostcuda {
namespace {

constexpr unsigned kUsualPatience = 10;  // seconds

class Watchdog {
 public:
  void add(Progress* progress) {
    const std::lock_guard lock(mutex_);
    all_.push_back(progress);
    if (!runs_) runs_ = start_service_thread("tenon-watch", serve, this);
  }
  void remove(Progress* progress) {
    const std::lock_guard lock(mutex_);
    std::erase(all_, progress);
  }

 private:
  static void serve(void* data) { static_cast<Watchdog*>(data)->serve(); }
  void serve() {
    for (;;) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
      const std::lock_guard lock(mutex_);
      for (Progress* progress : all_) progress->watch(1);
    }
  }

  std::mutex mutex_;
  std::vector<Progress*> all_;
  bool runs_ = false;
};

Watchdog& watchdog() {
  static auto* const one = new Watchdog;  // never destroyed: its thread never ends
  return *one;
}

}  // namespace

// To ThreadSanitizer, the locks here would be an order between launches.
Progress::Progress() {
  if (!has_thread_sanitizer()) watchdog().add(this);
}
Progress::~Progress() {
  if (!has_thread_sanitizer()) watchdog().remove(this);
}

void Progress::begin(const Launch& launch, const Block& block) {
  if (has_thread_sanitizer()) return;
  const std::lock_guard lock(mutex_);
  launch_ = &launch;
  block_ = &block;
  idle_ = 0;
}
void Progress::end() {
  if (has_thread_sanitizer()) return;
  const std::lock_guard lock(mutex_);
  launch_ = nullptr;
}

void Progress::watch(unsigned seconds) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t steps = steps_.load(std::memory_order_relaxed);
  idle_ = launch_ && steps == seen_ ? idle_ + seconds : 0;
  seen_ = steps;
  const unsigned most = environment().timeout;
  if (idle_ != (most > 0 ? most : kUsualPatience)) return;
  report(
      "kernel %s, block (%u, %u, %u) of %u threads, launched at %s:%d, has neither ended nor "
      "waited "
      "for %u s. Threads take turns at barriers alone: one that spins until another one writes "
      "something never ends",
      launch_->body.kernel->name, block_->index.x, block_->index.y, block_->index.z,
      block_->threads, launch_->site.file, launch_->site.line, idle_);
  if (most > 0) std::_Exit(1);
}

}  // namespace tenon::hostcuda
