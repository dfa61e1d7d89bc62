// What is different where kernels work on a device: work is put into the stream by the caller's
// thread, and what the host reads or gives is copied.
#include <cstring>

#include "base/error.h"
#include "run/context.h"

namespace tenon {

using Place = PlanTensor::Place;

void Context::enqueue_on_device(const std::shared_ptr<ShapeState>& state, Stream* stream) {
  const bool captured = engine_->device().is_capturing(stream);
  if (captured && !engine_->obstacle_to_capture().empty())
    fail(ErrorCode::kUNSUPPORTED_STATE,
         "the network cannot be captured into a CUDA graph: {}; run it without a graph",
         engine_->obstacle_to_capture());
  if (memory_.bytes() < state->stages[0].bytes) {
    require(!captured,
            "the run needs memory that the context does not have yet, and a capture "
            "cannot take it: call enqueueV3 once before");
    wait();
    reserve_memory(state->stages[0].bytes);
  }
  run(*state, bindings_, stream);
  if (captured) {
    has_graphs_ = true;
    captured_states_.push_back(state);
    return;
  }
  if (last_run_ == nullptr)
    require(engine_->device().create_event(last_run_) == nullptr, "cannot make an event");
  if (Failure failure = engine_->device().record(last_run_, stream))
    fail(ErrorCode::kFAILED_EXECUTION, "the work could not be put into the stream: {}", failure);
  if (profiler_ != nullptr && emits_profile) report_profile();
}

// An input that a step reads on the host.
const void* Context::host_input(const ShapeState& state, size_t step, size_t input,
                                Stream* stream) {
  const Plan& plan = engine_->plan();
  const int32_t tensor = plan.steps[step].inputs[input];
  const auto root = static_cast<size_t>(plan.root_of(tensor));
  const PlanTensor& t = plan.tensors[root];
  if (t.place == Place::kHost) return state.host[root].data();
  if (t.place == Place::kWeight) return plan.weights[static_cast<size_t>(t.weight)].data();
  for (size_t i = 0; i < input_shapes_.size(); ++i)
    if (plan.bindings[i].tensor == static_cast<int32_t>(root) && plan.bindings[i].is_shape)
      return bindings_.addresses[i];
  auto& copies = host_inputs_[step];
  copies.resize(plan.steps[step].inputs.size());
  const TensorSpec& spec = state.inputs[step][input];
  const size_t bytes = storage_bytes(spec.type, spec.shape, spec.layout);
  // Kernels keep nothing from one run to the next: the pool may give the same memory then.
  std::byte* const copy = copies[input].take(bytes).get();
  engine_->device().copy_out(copy, state.pointers[root], bytes, stream);
  return copy;
}

int64_t Context::read_element(const ShapeState& state, int32_t tensor, int32_t index,
                              Stream* stream) {
  const Plan& plan = engine_->plan();
  const DataType type = plan.tensors[static_cast<size_t>(tensor)].type;
  const std::byte* data = state.pointers[static_cast<size_t>(plan.root_of(tensor))];
  if (on_host()) return element_at(data, type, index);
  std::byte element[8] = {};
  const size_t bytes = bytes_of(type, 1);
  engine_->device().copy_out(element, data + static_cast<size_t>(index) * bytes, bytes, stream);
  return element_at(element, type, 0);
}

// Shape inputs are in the host's memory. Of those that kernels read on the device, a state has a
// copy there: a graph that captured the state reads what was there then.
bool Context::reads_on_device(size_t input) const {
  const PlanBinding& binding = engine_->plan().bindings[input];
  return !on_host() && binding.is_shape && engine_->reads_on_device(binding.tensor);
}

bool Context::holds_shape_inputs(const ShapeState& state) const {
  for (size_t i = 0; i < input_shapes_.size(); ++i) {
    if (!reads_on_device(i)) continue;
    const Tensor& elements = state.shape_inputs[i].elements;
    if (std::memcmp(elements.data(), bindings_.addresses[i], elements.bytes()) != 0) return false;
  }
  return true;
}

void Context::place_shape_inputs(ShapeState& state) const {
  state.shape_inputs.resize(input_shapes_.size());
  bool any = false;
  for (size_t i = 0; i < input_shapes_.size(); ++i) {
    if (!reads_on_device(i)) continue;
    any = true;
    auto& [elements, copy] = state.shape_inputs[i];
    elements = Tensor(engine_->binding_tensor(static_cast<int>(i)).type, *input_shapes_[i]);
    std::memcpy(elements.mutable_data<std::byte>(), bindings_.addresses[i], elements.bytes());
    copy = DeviceBuffer(engine_->device(), elements.bytes());
    engine_->device().copy_in(copy.data(), elements.data(), elements.bytes(), nullptr);
  }
  if (any) engine_->device().copy_out(nullptr, nullptr, 0, nullptr);  // for any stream
}

}  // namespace tenon
