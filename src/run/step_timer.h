// How long the steps of a run take: by the clock on the host, by events between them on a device.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "backend/device.h"

namespace tenon {

/// Of one context: one run at a time.
class StepTimer {
 public:
  StepTimer(const Device& device, size_t steps) : device_(device), ms_(steps) {}
  ~StepTimer();
  StepTimer(const StepTimer&) = delete;
  StepTimer& operator=(const StepTimer&) = delete;

  class Run {
   public:
    /// @param active false: nothing is timed.
    /// @param stream that all steps go to, on a device. While it is captured, what is timed is the
    /// graph, each time that it runs. Throws Error.
    Run(StepTimer& timer, bool active, Stream* stream);
    void begin();
    void end(size_t step);

   private:
    using Clock = std::chrono::steady_clock;
    void record(size_t event);

    StepTimer& timer_;
    bool by_clock_, by_events_, captured_ = false;
    Stream* stream_;
    Clock::time_point start_;
  };

  /// Milliseconds of each step of the last run, which is waited for; zeros before the first.
  /// Throws Error.
  const std::vector<float>& read();

 private:
  const Device& device_;
  std::vector<float> ms_;
  std::vector<Event*> events_;  // before the first step and after each; on a device
};

}  // namespace tenon
