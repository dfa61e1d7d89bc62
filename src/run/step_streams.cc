#include "run/step_streams.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {
namespace {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    fail(ErrorCode::kFAILED_EXECUTION, "{} failed: {}", what, cudaGetErrorString(status));
}

}  // namespace

StepStreams::StepStreams(const Streams& plan) : plan_(plan) {
  const auto count = static_cast<size_t>(plan.auxiliary);
  given_.resize(count);
  made_.resize(count);
  if (count > 0) events_.resize(plan.steps.size() + 1);
}

StepStreams::~StepStreams() {
  for (cudaStream_t stream : made_)
    if (stream != nullptr) cudaStreamDestroy(stream);
  for (cudaEvent_t event : events_)
    if (event != nullptr) cudaEventDestroy(event);
}

void StepStreams::set_auxiliary(std::span<const cudaStream_t> streams) {
  for (size_t i = 0; i < given_.size(); ++i) given_[i] = i < streams.size() ? streams[i] : nullptr;
}

cudaStream_t StepStreams::stream(int32_t index, cudaStream_t main) {
  if (index == 0) return main;
  const auto i = static_cast<size_t>(index) - 1;
  if (given_[i] != nullptr) return given_[i];
  if (made_[i] == nullptr)
    check(cudaStreamCreateWithFlags(&made_[i], cudaStreamNonBlocking),
          "making an auxiliary stream");
  return made_[i];
}

cudaEvent_t StepStreams::event(int32_t step) {
  cudaEvent_t& event = events_[static_cast<size_t>(step - Streams::kBegin)];
  if (event == nullptr)
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  return event;
}

void StepStreams::record(int32_t step, cudaStream_t stream) {
  check(cudaEventRecord(event(step), stream), "recording an event");
}

void StepStreams::wait(cudaStream_t stream, const std::vector<int32_t>& steps) {
  for (int32_t step : steps)
    check(cudaStreamWaitEvent(stream, event(step), 0), "waiting for an event in a stream");
}

StepStreams::Run::Run(StepStreams& streams, cudaStream_t main, bool alone)
    : streams_(streams), main_(main), spread_(!alone && streams.plan_.auxiliary > 0) {
  if (spread_ && streams_.plan_.begin_is_awaited) streams_.record(Streams::kBegin, main_);
}

cudaStream_t StepStreams::Run::before(size_t step) {
  if (!spread_) return main_;
  const Streams::Step& s = streams_.plan_.steps[step];
  const cudaStream_t stream = streams_.stream(s.stream, main_);
  streams_.wait(stream, s.waits);
  return stream;
}

void StepStreams::Run::after(size_t step) {
  if (!spread_ || !streams_.plan_.steps[step].is_awaited) return;
  streams_.record(static_cast<int32_t>(step),
                  streams_.stream(streams_.plan_.steps[step].stream, main_));
}

void StepStreams::Run::finish() {
  if (spread_) streams_.wait(main_, streams_.plan_.waits_at_end);
  spread_ = false;
}

// What a run that failed has put into the streams uses the context's memory still.
StepStreams::Run::~Run() {
  if (!spread_) return;
  cudaStreamSynchronize(main_);
  for (size_t i = 0; i < streams_.made_.size(); ++i)
    for (cudaStream_t stream : {streams_.given_[i], streams_.made_[i]})
      if (stream != nullptr) cudaStreamSynchronize(stream);
}

}  // namespace tenon
