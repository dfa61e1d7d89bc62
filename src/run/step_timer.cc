#include "run/step_timer.h"

#include "base/error.h"
#include "tenon/cudart/engine.h"

namespace tenon {
namespace {

void check(cudaError_t status) {
  if (status != cudaSuccess)
    fail(ErrorCode::kFAILED_EXECUTION, "the layers cannot be timed: {}",
         cudaGetErrorString(status));
}

}  // namespace

StepTimer::~StepTimer() {
  for (cudaEvent_t event : events_) cudaEventDestroy(event);
}

StepTimer::Run::Run(StepTimer& timer, bool active, bool on_host, cudaStream_t stream)
    : timer_(timer), by_clock_(active && on_host), by_events_(active && !on_host), stream_(stream) {
  if (!by_events_) return;
  flags_ = cudart::is_capturing(stream) ? cudaEventRecordExternal : cudaEventRecordDefault;
  while (timer_.events_.size() < timer_.ms_.size() + 1) {
    cudaEvent_t event = nullptr;
    check(cudaEventCreate(&event));
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
  check(cudaEventRecordWithFlags(timer_.events_[event], stream_, flags_));
}

const std::vector<float>& StepTimer::read() {
  if (events_.empty()) return ms_;
  check(cudaEventSynchronize(events_.back()));
  for (size_t i = 0; i < ms_.size(); ++i)
    check(cudaEventElapsedTime(&ms_[i], events_[i], events_[i + 1]));
  return ms_;
}

}  // namespace tenon
