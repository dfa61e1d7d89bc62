#include "run/step_timer.h"

#include "base/error.h"

namespace tenon {
namespace {

void check(Failure failure) {
  if (failure != nullptr)
    fail(ErrorCode::kFAILED_EXECUTION, "the layers cannot be timed: {}", failure);
}

}  // namespace

StepTimer::~StepTimer() {
  for (Event* event : events_) device_.destroy(event);
}

StepTimer::Run::Run(StepTimer& timer, bool active, Stream* stream)
    : timer_(timer),
      by_clock_(active && timer.device_.is_host()),
      by_events_(active && !timer.device_.is_host()),
      stream_(stream) {
  if (!by_events_) return;
  captured_ = timer_.device_.is_capturing(stream);
  while (timer_.events_.size() < timer_.ms_.size() + 1) {
    Event* event = nullptr;
    check(timer_.device_.create_timing_event(event));
    timer_.events_.push_back(event);
  }
  record(0);
}

void StepTimer::Run::begin() {
  if (by_clock_) start_ = Clock::now();
}

void StepTimer::Run::end(size_t step) {
  if (by_clock_)
    timer_.ms_[step] = std::chrono::duration<float, std::milli>(Clock::now() - start_).count();
  if (by_events_) record(step + 1);
}

void StepTimer::Run::record(size_t event) {
  check(timer_.device_.record_time(timer_.events_[event], stream_, captured_));
}

const std::vector<float>& StepTimer::read() {
  if (events_.empty()) return ms_;
  check(device_.synchronize(events_.back()));
  for (size_t i = 0; i < ms_.size(); ++i)
    check(device_.elapsed(ms_[i], events_[i], events_[i + 1]));
  return ms_;
}

}  // namespace tenon
