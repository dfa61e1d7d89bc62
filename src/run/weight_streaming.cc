#include "run/weight_streaming.h"

#include <algorithm>

#include "run/device_calls.h"
#include "run/engine.h"

namespace tenon {
namespace {

// The plan's weight that an input is, or a view of; -1 for none.
int32_t weight_of(const Plan& plan, int32_t tensor) {
  if (tensor < 0) return -1;
  const PlanTensor& root = plan.tensors[static_cast<size_t>(plan.root_of(tensor))];
  return root.place == PlanTensor::Place::kWeight ? root.weight : -1;
}

bool streams_inputs(const LoadedStep& step) {
  return step.kernel != nullptr && !step.op->is_plugin()
         && step.op->traits().runs != Runs::kListener;
}

// Per weight, whether nothing but kernels on the device reads it.
std::vector<bool> streamable_weights(const Plan& plan, std::span<const LoadedStep> steps) {
  std::vector<bool> streamable(plan.weights.size(), false), excluded = streamable;
  const auto mark = [](std::vector<bool>& marks, int32_t weight) {
    if (weight >= 0) marks[static_cast<size_t>(weight)] = true;
  };
  for (const PlanBinding& binding : plan.bindings) mark(excluded, weight_of(plan, binding.tensor));
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const int32_t weight : plan.steps[i].packed) mark(streamable, weight);
    for (size_t k = 0; k < plan.steps[i].inputs.size(); ++k) {
      const bool on_device = streams_inputs(steps[i]) && !steps[i].kernel->input_on_host[k];
      mark(on_device ? streamable : excluded, weight_of(plan, plan.steps[i].inputs[k]));
    }
    for (const int32_t output : plan.steps[i].outputs) mark(excluded, weight_of(plan, output));
  }
  for (size_t w = 0; w < streamable.size(); ++w) streamable[w] = streamable[w] && !excluded[w];
  return streamable;
}

}  // namespace

int64_t aligned_bytes(const Tensor& weight) {
  constexpr int64_t kAlignment = 256;
  return (static_cast<int64_t>(weight.bytes()) + kAlignment - 1) / kAlignment * kAlignment;
}

WeightStreaming stream_weights(const Plan& plan, std::span<const LoadedStep> steps,
                               int64_t budget) {
  const std::vector<bool> streamable = streamable_weights(plan, steps);
  WeightStreaming result;
  result.is_streamed = streamable;
  result.steps.resize(plan.steps.size());
  std::vector<bool> is_seen(plan.weights.size(), false);
  for (size_t i = 0; i < steps.size(); ++i) {
    int64_t offset = 0;
    const auto use = [&](int32_t weight, int32_t input, int32_t packed) {
      const auto w = static_cast<size_t>(weight);
      if (weight < 0 || !streamable[w]) return;
      const int64_t bytes = aligned_bytes(plan.weights[w]);
      if (!is_seen[w]) {
        is_seen[w] = true;
        result.streamable += bytes;
        if (bytes <= budget - result.resident) {
          result.resident += bytes;
          result.is_streamed[w] = false;
        }
      }
      if (!result.is_streamed[w]) return;
      result.steps[i].push_back({weight, offset, input, packed});
      offset += bytes;
    };
    for (size_t k = 0; k < plan.steps[i].inputs.size(); ++k)
      use(weight_of(plan, plan.steps[i].inputs[k]), static_cast<int32_t>(k), -1);
    for (size_t k = 0; k < plan.steps[i].packed.size(); ++k)
      use(plan.steps[i].packed[k], -1, static_cast<int32_t>(k));
    result.step_bytes = std::max(result.step_bytes, offset);
  }
  return result;
}

StepWeights::StepWeights(const Engine& engine)
    : engine_(engine), memory_(engine.device(), engine.allocator()) {
  const WeightStreaming& streaming = engine.streaming();
  if (!streaming.is_on()) return;
  indices_.resize(streaming.steps.size());
  for (size_t step = 0; step < streaming.steps.size(); ++step) {
    if (streaming.steps[step].empty()) continue;
    indices_[step] = order_.size();
    order_.push_back(step);
  }
  memory_.reserve(2 * streaming.step_bytes);
  for (size_t i = 0; i < order_.size(); ++i) {
    const auto constants = engine.packed(order_[i]);
    auto& packed = packed_.emplace_back(constants.begin(), constants.end());
    for (const auto& use : streaming.steps[order_[i]])
      if (use.packed >= 0) packed[static_cast<size_t>(use.packed)] = slot(i) + use.offset;
  }
  const Device& device = engine.device();
  check_call(device.create_auxiliary_stream(stream_), "making a stream");
  for (Event** event : {&begin_, &copied_[0], &copied_[1], &over_[0], &over_[1]})
    check_call(device.create_event(*event), "making an event");
}

StepWeights::~StepWeights() {
  const Device& device = engine_.device();
  if (stream_ != nullptr) {
    static_cast<void>(device.synchronize(stream_));
    device.destroy(stream_);
  }
  for (Event* event : {begin_, copied_[0], copied_[1], over_[0], over_[1]})
    if (event != nullptr) device.destroy(event);
}

// On the host no step does, and none is listed.
bool StepWeights::streams(size_t step) const {
  return !order_.empty() && !engine_.streaming().steps[step].empty();
}

std::byte* StepWeights::slot(size_t index) const {
  return memory_.data() + static_cast<int64_t>(index % 2) * engine_.streaming().step_bytes;
}

void StepWeights::copy(size_t index) {
  const Device& device = engine_.device();
  for (const auto& use : engine_.streaming().steps[order_[index]]) {
    const Tensor& weight = engine_.plan().weights[static_cast<size_t>(use.weight)];
    device.copy_in(slot(index) + use.offset, weight.data(), weight.bytes(), stream_);
  }
  check_call(device.record(copied_[index % 2], stream_), "recording an event");
}

void StepWeights::begin(Stream* main) {
  if (order_.empty()) return;
  check_call(engine_.device().record(begin_, main), "recording an event");
  check_call(engine_.device().wait(stream_, begin_), "waiting for an event in a stream");
  copy(0);
}

std::span<const void* const> StepWeights::before(size_t step, std::span<const void*> inputs,
                                                 Stream* stream) {
  if (!streams(step)) return engine_.packed(step);
  const size_t index = indices_[step];
  for (const auto& use : engine_.streaming().steps[step])
    if (use.input >= 0) inputs[static_cast<size_t>(use.input)] = slot(index) + use.offset;
  check_call(engine_.device().wait(stream, copied_[index % 2]), "waiting for an event in a stream");
  return packed_[index];
}

void StepWeights::after(size_t step, Stream* stream) {
  if (!streams(step)) return;
  const size_t index = indices_[step];
  check_call(engine_.device().record(over_[index % 2], stream), "recording an event");
  if (index + 1 == order_.size()) return;
  // The step before has read its slot by then.
  if (index > 0)
    check_call(engine_.device().wait(stream_, over_[(index + 1) % 2]),
               "waiting for an event in a stream");
  copy(index + 1);
}

}  // namespace tenon
