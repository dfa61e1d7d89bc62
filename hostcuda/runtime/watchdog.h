/// Blocks that neither end nor wait: a thread that spins until another one writes something never
/// sees it, as threads take turns only where they wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "hostcuda/runtime/launch.h"

namespace tenon::hostcuda {

/// How far one thread of the machine is with its blocks. Watched as long as it lives.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void begin(const Launch& launch, const Block& block);
  void end();
  /// A block begins, or a thread of it ends or waits.
  void step() {
    steps_.store(steps_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  /// For the watching thread, which comes every `seconds`.
  void watch(unsigned seconds);

 private:
  std::atomic<std::uint64_t> steps_{0};
  std::mutex mutex_;  // of what follows
  const Launch* launch_ = nullptr;
  const Block* block_ = nullptr;
  std::uint64_t seen_ = 0;
  unsigned idle_ = 0;  // seconds
};

}  // namespace tenon::hostcuda
