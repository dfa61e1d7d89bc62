// What happens while a context runs: its stages, one step after the other, and sizes that they
// tell.
#include "base/cuda_stream.h"
#include "base/error.h"
#include "base/parallel.h"
#include "run/context.h"

namespace tenon {

using Place = PlanTensor::Place;

// While it lives, what only running sizes is an allocator's, if there is one.
class Context::TemporaryMemory {
 public:
  TemporaryMemory(Context& context, nvinfer1::IGpuAllocator* allocator, Stream* stream)
      : context_(context), lent_(allocator != nullptr) {
    if (lent_) take_from(allocator, stream);
  }
  TemporaryMemory(const TemporaryMemory&) = delete;
  TemporaryMemory& operator=(const TemporaryMemory&) = delete;
  ~TemporaryMemory() {
    if (lent_) take_from(nullptr, nullptr);
  }

 private:
  void take_from(nvinfer1::IGpuAllocator* allocator, Stream* stream) {
    for (const auto* list : {&context_.stage_memory_, &context_.data_dependent_memory_})
      for (const auto& memory : *list)
        if (memory != nullptr) memory->take_from(allocator, stream);
  }

  Context& context_;
  bool lent_;
};

// Where the tensors of a stage lie.
void Context::set_pointers(ShapeState& state, int32_t stage) {
  const Plan& plan = engine_->plan();
  const Stages& stages = engine_->stages();
  std::byte* arena = stage == 0 ? memory_.data() : stage_memory(stage).data();
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor& t = plan.tensors[i];
    const void* data = nullptr;
    if (t.place == Place::kArena && stages.first_stages[i] == stage)
      data = arena + state.offsets[i];
    else if (t.place == Place::kWeight && stage == 0)
      data = engine_->weight(t.weight);
    else if (t.place == Place::kHost && stages.tensors[i] == stage)
      data = state.elements[i];
    else
      continue;
    state.pointers[i] = static_cast<std::byte*>(const_cast<void*>(data));
  }
}

// A stage whose sizes the steps before it told.
void Context::begin_stage(ShapeState& state, int32_t stage, const Bindings& bound, Stream* stream) {
  prepare_stage(*engine_, state, stage);
  stage_memory(stage).reserve(state.stages[static_cast<size_t>(stage)].bytes);
  set_pointers(state, stage);
  for (size_t i = input_shapes_.size(); i < bound.addresses.size(); ++i) {
    const auto tensor = static_cast<size_t>(engine_->plan().bindings[i].tensor);
    if (engine_->stages().tensors[tensor] != stage) continue;
    const int binding = static_cast<int>(i);
    void* data = output_memory(bound, binding, state.shapes[tensor], stream);
    check_address(binding, data, state.shapes[tensor]);
    state.pointers[tensor] = static_cast<std::byte*>(data);
  }
}

// Memory for an output of the step that is running.
void* Context::allocate_data_dependent(int output, const Shape& shape) {
  auto& [state, step] = running_;
  const auto tensor =
      static_cast<size_t>(engine_->plan().steps[step].outputs[static_cast<size_t>(output)]);
  const PlanTensor& t = engine_->plan().tensors[tensor];
  const Shape& expected = state->outputs[step][static_cast<size_t>(output)].shape;
  bool fits = shape.rank() == expected.rank();
  for (int axis = 0; fits && axis < shape.rank(); ++axis)
    fits = expected[axis] < 0 || expected[axis] == shape[axis];
  require(fits && t.place == Place::kDataDependent,
          "its kernel made an output of shape {}; expected {}", shape, expected);
  const int64_t count = shape.volume();
  require(count <= INT64_MAX / 16, "an output of shape {} is too large", shape);
  const auto& memory = data_dependent_memory_[tensor];
  const auto bytes = static_cast<int64_t>(bytes_of(t.type, count));
  // Sizes that change a little from run to run seldom need more.
  if (memory->data() == nullptr || memory->bytes() < bytes)
    memory->reserve(std::max({int64_t{64}, bytes, memory->bytes() / 2 * 3}));
  state->shapes[tensor] = shape;
  return state->pointers[tensor] = memory->data();
}

// Values of the symbols that a step told by running.
void Context::read_data_dependent(ShapeState& state, size_t step, Stream* stream) {
  const Plan& plan = engine_->plan();
  for (int32_t s : engine_->stages().made_symbols[step]) {
    const PlanSymbol& symbol = plan.symbols[static_cast<size_t>(s)];
    const auto tensor = static_cast<size_t>(symbol.tensor);
    const Shape& shape = state.shapes[tensor];
    SymbolValue& value = state.symbols[static_cast<size_t>(s)];
    if (!symbol.is_element) {
      value = shape[symbol.index];
      require(*value >= 0, "the kernel did not make its output '{}'", plan.tensors[tensor].name);
      continue;
    }
    const auto root = static_cast<size_t>(plan.root_of(symbol.tensor));
    require(symbol.index < shape.volume() && symbol.index < state.shapes[root].volume(),
            "tensor '{}' of shape {} has no element {}", plan.tensors[tensor].name, shape,
            symbol.index);
    value = read_element(state, symbol.tensor, symbol.index, stream);
    if (const SymbolValue& upper = state.upper[static_cast<size_t>(s)])
      require(*value >= 0 && *value <= *upper, "it wrote the size {} to '{}'; expected 0 to {}",
              *value, plan.tensors[tensor].name, *upper);
  }
}

// On a device the elements are there when the stream comes to that place.
void Context::tell_listener(const ShapeState& state, const PlanStep& step, Stream* stream) const {
  const Plan& plan = engine_->plan();
  const auto tensor = static_cast<size_t>(step.inputs[0]);
  const auto root = static_cast<size_t>(plan.root_of(step.inputs[0]));
  const void* data = state.pointers[root];
  bool is_on_host = plan.tensors[root].place == Place::kHost;
  if (is_on_host) data = state.host[root].data();
  for (size_t i = 0; i < input_shapes_.size(); ++i)
    if (plan.bindings[i].is_shape && plan.bindings[i].tensor == static_cast<int32_t>(root)) {
      is_on_host = true;
      if (reads_on_device(i)) data = bindings_.addresses[i];
    }
  const std::string& name = plan.debug_tensors[static_cast<size_t>(step.debug)].name;
  const bool goes_on = debug_listener_->processDebugTensor(
      data, is_on_host ? nvinfer1::TensorLocation::kHOST : nvinfer1::TensorLocation::kDEVICE,
      plan.tensors[tensor].type, state.shapes[tensor].dims(), name.c_str(), to_cuda(stream));
  if (!goes_on)
    fail(ErrorCode::kFAILED_EXECUTION, "the debug listener ended the run at tensor '{}'", name);
}

void Context::run_step(ShapeState& state, size_t i, Stream* stream) {
  const Plan& plan = engine_->plan();
  const PlanStep& step = plan.steps[i];
  if (step.debug >= 0) {
    if (!tells_of(step.debug)) return;
    if (step.outputs.empty()) return tell_listener(state, step, stream);
  }
  Execution* execution = state.executions[i].get();
  if (execution == nullptr) {  // it writes nothing, but other steps' weights come after its own
    step_weights_.after(i, stream);
    return read_data_dependent(state, i, stream);
  }
  const auto pointer = [&](int32_t tensor) -> std::byte* {
    return tensor < 0 ? nullptr : state.pointers[static_cast<size_t>(plan.root_of(tensor))];
  };
  auto& inputs = state.step_inputs[i];
  auto& outputs = state.step_outputs[i];
  for (size_t k = 0; k < inputs.size(); ++k)
    inputs[k] = on_host() || step.inputs[k] < 0 || !engine_->reads_on_host(i, k)
                    ? pointer(step.inputs[k])
                    : host_input(state, i, k, stream);
  for (size_t k = 0; k < outputs.size(); ++k) outputs[k] = pointer(step.outputs[k]);
  const auto packed = step_weights_.before(i, inputs, stream);
  const int32_t stage = engine_->stages().steps[i];
  std::byte* arena = stage == 0 ? memory_.data() : stage_memory(stage).data();
  running_ = {&state, i};
  try {
    execution->run({inputs, outputs, arena + state.scratch_offsets[i], stream, &allocate_, packed});
    step_weights_.after(i, stream);
    read_data_dependent(state, i, stream);
  } catch (const Error& e) {
    throw e.with_text(fmt::format("layer {} ({}): {}", step.name, step.op, e.what()));
  }
}

void Context::run(ShapeState& state, const Bindings& bound, Stream* stream) {
  const std::lock_guard lock(run_mutex_);
  const Plan& plan = engine_->plan();
  // Kernels ask whether their launch failed: what earlier calls of the caller gave is none of it.
  if (!on_host()) engine_->device().forget_failures();
  // A graph may run long after others were given less.
  require(state.stages[0].bytes <= memory_.bytes(),
          "the run needs {} bytes of device memory; the context has {}", state.stages[0].bytes,
          memory_.bytes());
  for (size_t i = 0; i < plan.bindings.size(); ++i)
    state.pointers[static_cast<size_t>(plan.bindings[i].tensor)] = static_cast<std::byte*>(
        i < input_shapes_.size() && reads_on_device(i) ? state.shape_inputs[i].copy.data()
                                                       : bound.addresses[i]);
  set_pointers(state, 0);
  const TemporaryMemory temporary(*this, bound.temporary, stream);
  // Steps side by side cannot be timed one by one.
  StepStreams::Run streams(step_streams_, stream, profiler_ != nullptr);
  StepTimer::Run timer(step_timer_, profiler_ != nullptr, stream);
  step_weights_.begin(stream);
  const auto run_steps = [&] {
    int32_t stage = 0;
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      while (stage < engine_->stages().steps[i]) begin_stage(state, ++stage, bound, stream);
      timer.begin();
      run_step(state, i, streams.before(i));
      streams.after(i);
      timer.end(i);
    }
    streams.finish();
  };
  if (!on_host()) return run_steps();
  if (plan.plugins.empty()) return in_arena(run_steps);
  // The arena may let a thread of another stream run the steps. It does this stream's work then:
  // what plugins put into it would wait for its own thread, which waits for the steps.
  in_arena([&] { engine_->device().run_in_place(stream, run_steps); });
}

void Context::run_job(Job& job) noexcept {
  try {
    run(*job.state, job.bound, job.stream);
    if (profiler_ != nullptr && emits_profile) report_times();
  } catch (...) {
    if (job.awaited) {
      job.failure = std::current_exception();
    } else {
      if (on_failure) on_failure();
      engine_->device().report_failure();
    }
  }
  if (job.captured) return;
  if (!job.awaited) return give_back(job);
  const std::lock_guard lock(mutex_);
  job.over = true;
  idle_.notify_all();
}

}  // namespace tenon
