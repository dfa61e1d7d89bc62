#include "run/step_streams.h"

#include <algorithm>

#include "run/device_calls.h"

namespace tenon {
StepStreams::StepStreams(const Device& device, const Streams& plan) : device_(device), plan_(plan) {
  const auto count = static_cast<size_t>(plan.auxiliary);
  given_.resize(count);
  made_.resize(count);
  if (count > 0) events_.resize(plan.steps.size() + 1);
}

StepStreams::~StepStreams() {
  for (Stream* stream : made_)
    if (stream != nullptr) device_.destroy(stream);
  for (Event* event : events_)
    if (event != nullptr) device_.destroy(event);
}

void StepStreams::set_auxiliary(std::span<Stream* const> streams) {
  for (size_t i = 0; i < given_.size(); ++i) given_[i] = i < streams.size() ? streams[i] : nullptr;
}

Stream* StepStreams::stream(int32_t index, Stream* main) {
  if (index == 0) return main;
  const auto i = static_cast<size_t>(index) - 1;
  if (given_[i] != nullptr) return given_[i];
  if (made_[i] == nullptr)
    check_call(device_.create_auxiliary_stream(made_[i]), "making an auxiliary stream");
  return made_[i];
}

Event* StepStreams::event(int32_t step) {
  Event*& event = events_[static_cast<size_t>(step - Streams::kBegin)];
  if (event == nullptr) check_call(device_.create_event(event), "making an event");
  return event;
}

void StepStreams::record(int32_t step, Stream* stream) {
  check_call(device_.record(event(step), stream), "recording an event");
}

void StepStreams::wait(Stream* stream, const std::vector<int32_t>& steps) {
  for (int32_t step : steps)
    check_call(device_.wait(stream, event(step)), "waiting for an event in a stream");
}

StepStreams::Run::Run(StepStreams& streams, Stream* main, bool alone)
    : streams_(streams), main_(main), spread_(!alone && streams.plan_.auxiliary > 0) {
  if (spread_ && streams_.plan_.begin_is_awaited) streams_.record(Streams::kBegin, main_);
}

Stream* StepStreams::Run::before(size_t step) {
  if (!spread_) return main_;
  const Streams::Step& s = streams_.plan_.steps[step];
  Stream* const stream = streams_.stream(s.stream, main_);
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
  static_cast<void>(streams_.device_.synchronize(main_));
  for (size_t i = 0; i < streams_.made_.size(); ++i)
    for (Stream* stream : {streams_.given_[i], streams_.made_[i]})
      if (stream != nullptr) static_cast<void>(streams_.device_.synchronize(stream));
}

}  // namespace tenon
