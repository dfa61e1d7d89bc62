#include "run/context.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/parallel.h"
#include "plan/profiles.h"
#include "tenon/cudart/engine.h"

namespace tenon {
namespace {

using Place = PlanTensor::Place;

// Shapes that a context goes back and forth between are kept ready.
constexpr size_t kKeptStates = 4;
// Runs that may be in flight before enqueue() waits.
constexpr size_t kJobs = 16;

bool has_plugins(const Plan& plan) {
  return !plan.plugins.empty();
}

std::vector<int64_t> elements_at(const void* data, DataType type, int64_t count) {
  return Tensor(type, {count}, nullptr, data).integers();
}

}  // namespace

// Catches two threads that enter one context at the same time.
class Context::InUse {
 public:
  explicit InUse(Context& context) : context_(context) {
    if (context_.in_use_.exchange(true))
      fail(ErrorCode::kINVALID_STATE,
           "two threads use one execution context at the same time: give each thread its own");
  }
  ~InUse() { context_.in_use_ = false; }

 private:
  Context& context_;
};

Context::Context(std::shared_ptr<const Engine> engine, bool own_memory)
    : engine_(std::move(engine)), memory_(engine_->allocator()), own_memory_(own_memory) {
  const size_t bindings = engine_->plan().bindings.size();
  addresses_.resize(bindings);
  allocators_.resize(bindings);
  layer_ms_.resize(engine_->plan().steps.size());
  jobs_.resize(kJobs);
  for (Job& job : jobs_) {
    job.context = this;
    job.addresses.resize(bindings);
  }
  set_profile(0);
}

Context::~Context() {
  wait();
  if (plugin_stream_ != nullptr) cudaStreamDestroy(plugin_stream_);
}

void Context::wait() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return pending_ == 0; });
}

void Context::set_profile(int profile) {
  const auto& profiles = engine_->plan().profiles;
  require(profile >= 0 && profile < static_cast<int>(profiles.size()),
          "profile {} does not exist; the engine has {}", profile, profiles.size());
  profile_ = profile;
  input_shapes_.assign(static_cast<size_t>(engine_->plan().input_count()), std::nullopt);
  for (size_t i = 0; i < input_shapes_.size(); ++i) {
    const Shape& declared = engine_->plan().bindings[i].declared;
    if (std::all_of(declared.begin(), declared.end(), [](int64_t e) { return e >= 0; }))
      input_shapes_[i] = declared;
  }
  shapes_changed_ = true;
}

void Context::set_input_shape(int binding, const Shape& shape) {
  const InUse guard(*this);
  const std::string& name = engine_->binding_tensor(binding).name;
  require(engine_->plan().bindings[static_cast<size_t>(binding)].is_input,
          "'{}' is an output: only inputs take a shape", name);
  const auto& range =
      engine_->plan().profiles[static_cast<size_t>(profile_)].inputs[static_cast<size_t>(binding)];
  require(shape.rank() == range.min.rank(), "input '{}': shape {} has {} dimensions; expected {}",
          name, shape, shape.rank(), range.min.rank());
  for (int axis = 0; axis < shape.rank(); ++axis)
    require(range.min[axis] <= shape[axis] && shape[axis] <= range.max[axis],
            "input '{}': shape {} is outside profile {}, which allows {} to {}: axis {} is {}; "
            "choose another shape, or build the engine with a wider profile",
            name, shape, profile_, range.min, range.max, axis, shape[axis]);
  auto& current = input_shapes_[static_cast<size_t>(binding)];
  if (current && *current == shape) return;
  current = shape;
  shapes_changed_ = true;
}

void Context::set_address(int binding, void* data) {
  addresses_[static_cast<size_t>(binding)] = data;
}

void Context::set_output_allocator(int binding, nvinfer1::IOutputAllocator* allocator) {
  allocators_[static_cast<size_t>(binding)] = allocator;
}

std::vector<int> Context::missing_inputs() const {
  std::vector<int> missing;
  for (size_t i = 0; i < input_shapes_.size(); ++i)
    if (!input_shapes_[i] || (engine_->plan().bindings[i].is_shape && addresses_[i] == nullptr))
      missing.push_back(static_cast<int>(i));
  return missing;
}

Shape Context::tensor_shape(int binding) {
  const InUse guard(*this);
  const auto index = static_cast<size_t>(binding);
  if (index < input_shapes_.size())
    return input_shapes_[index].value_or(engine_->declared_shape(binding));
  if (!missing_inputs().empty()) return engine_->declared_shape(binding);
  const auto symbols = current_symbols();
  if (!states_.empty() && states_.front()->symbols == symbols)
    return states_.front()->shapes[static_cast<size_t>(engine_->plan().bindings[index].tensor)];
  check_symbols(symbols);
  return shape_of(engine_->plan(), engine_->plan().bindings[index].tensor,
                  engine_->plan().shapes.evaluate(symbols));
}

std::vector<int64_t> Context::current_symbols() const {
  const auto missing = missing_inputs();
  if (!missing.empty()) {
    const auto i = static_cast<size_t>(missing[0]);
    const std::string& name = engine_->binding_tensor(missing[0]).name;
    require(input_shapes_[i].has_value(),
            "input '{}' has no shape yet: call setInputShape (its profile allows {} to {})", name,
            engine_->plan().profiles[static_cast<size_t>(profile_)].inputs[i].min,
            engine_->plan().profiles[static_cast<size_t>(profile_)].inputs[i].max);
    fail(ErrorCode::kINVALID_STATE,
         "input '{}' decides shapes and has no address yet: call setTensorAddress with host memory",
         name);
  }
  std::vector<Shape> shapes;
  std::vector<std::vector<int64_t>> elements(input_shapes_.size());
  for (size_t i = 0; i < input_shapes_.size(); ++i) {
    shapes.push_back(*input_shapes_[i]);
    if (engine_->plan().bindings[i].is_shape)
      elements[i] = elements_at(addresses_[i], engine_->binding_tensor(static_cast<int>(i)).type,
                                shapes.back().volume());
  }
  return symbol_values(engine_->plan(), shapes, elements);
}

// Inputs that share a named dimension must agree, and shape inputs must be inside the profile.
void Context::check_symbols(const std::vector<int64_t>& symbols) const {
  const Plan& plan = engine_->plan();
  const auto values = plan.shapes.evaluate(symbols);
  for (size_t i = 0; i < input_shapes_.size(); ++i) {
    const PlanBinding& binding = plan.bindings[i];
    const Shape expected = shape_of(plan, binding.tensor, values);
    for (int axis = 0; axis < expected.rank(); ++axis) {
      const auto label = static_cast<size_t>(axis) < binding.dimension_names.size()
                             ? binding.dimension_names[static_cast<size_t>(axis)]
                             : std::string();
      require(expected[axis] == (*input_shapes_[i])[axis],
              "input '{}': axis {} is {}, but the dimension '{}' is {} in another input",
              plan.tensors[static_cast<size_t>(binding.tensor)].name, axis,
              (*input_shapes_[i])[axis], label, expected[axis]);
    }
  }
  for (size_t s = 0; s < plan.symbols.size(); ++s) {
    const PlanSymbol& symbol = plan.symbols[s];
    const auto& range =
        plan.profiles[static_cast<size_t>(profile_)].inputs[static_cast<size_t>(symbol.binding)];
    const auto at = static_cast<size_t>(symbol.index);
    if (!symbol.is_element || at >= range.min_values.size()) continue;
    require(range.min_values[at] <= symbols[s] && symbols[s] <= range.max_values[at],
            "shape input '{}': element {} is {}, outside profile {}, which allows {} to {}",
            engine_->binding_tensor(symbol.binding).name, at, symbols[s], profile_,
            range.min_values[at], range.max_values[at]);
  }
}

const std::shared_ptr<ShapeState>& Context::resolve() {
  const bool values_may_change =
      std::any_of(engine_->plan().bindings.begin(), engine_->plan().bindings.end(),
                  [](const PlanBinding& b) { return b.is_input && b.is_shape; });
  if (!shapes_changed_ && !values_may_change) return states_.front();
  auto symbols = current_symbols();
  const auto known = std::find_if(states_.begin(), states_.end(),
                                  [&](const auto& s) { return s->symbols == symbols; });
  if (known == states_.begin() && known != states_.end()) {
    shapes_changed_ = false;
    return *known;
  }
  wait();  // work in flight uses the current memory
  if (known != states_.end()) {
    states_.splice(states_.begin(), states_, known);
  } else {
    check_symbols(symbols);
    states_.push_front(make_shape_state(*engine_, std::move(symbols),
                                        states_.empty() ? nullptr : states_.front().get()));
    if (states_.size() > kKeptStates) states_.pop_back();
  }
  shapes_changed_ = false;
  return states_.front();
}

void Context::set_device_memory(void* data, int64_t bytes) {
  const InUse guard(*this);
  wait();
  memory_.borrow(data, bytes);
  own_memory_ = false;
}

int64_t Context::device_memory_needed() {
  const InUse guard(*this);
  return resolve()->memory.bytes;
}

void Context::set_profiler(nvinfer1::IProfiler* profiler) {
  wait();
  profiler_ = profiler;
}

void Context::report_profile() {
  wait();
  require(profiler_ != nullptr, "the context has no profiler");
  for (size_t i = 0; i < layer_ms_.size(); ++i)
    profiler_->reportLayerTime(engine_->plan().steps[i].name.c_str(), layer_ms_[i]);
}

// Outputs whose memory the caller's allocator gives.
void Context::prepare_outputs(const ShapeState& state, cudaStream_t stream) {
  for (size_t i = input_shapes_.size(); i < allocators_.size(); ++i) {
    nvinfer1::IOutputAllocator* allocator = allocators_[i];
    if (allocator == nullptr) continue;
    const auto tensor = static_cast<size_t>(engine_->plan().bindings[i].tensor);
    const PlanTensor& t = engine_->plan().tensors[tensor];
    const size_t bytes = bytes_of(t.type, state.shapes[tensor].volume());
    void* data = allocator->reallocateOutputAsync(t.name.c_str(), addresses_[i],
                                                  std::max<size_t>(bytes, 1), 64, stream);
    if (data == nullptr)
      fail(ErrorCode::kFAILED_ALLOCATION,
           "output '{}': the output allocator gave no memory for {} bytes", t.name, bytes);
    addresses_[i] = data;
    allocator->notifyShape(t.name.c_str(), state.shapes[tensor].dims());
  }
}

void Context::check_addresses(const ShapeState& state) const {
  for (size_t i = 0; i < addresses_.size(); ++i) {
    const auto tensor = static_cast<size_t>(engine_->plan().bindings[i].tensor);
    if (addresses_[i] != nullptr || state.shapes[tensor].volume() == 0) continue;
    fail(ErrorCode::kINVALID_STATE, "{} '{}' has no address: call setTensorAddress",
         engine_->plan().bindings[i].is_input ? "input" : "output",
         engine_->plan().tensors[tensor].name);
  }
  require(own_memory_ || memory_.data() != nullptr || state.memory.bytes == 0,
          "the context was made without device memory: call setDeviceMemory first");
}

void Context::reserve_memory(int64_t bytes) {
  const std::lock_guard lock(run_mutex_);
  memory_.reserve(bytes);
}

void Context::execute(std::span<void* const> addresses) {
  const InUse guard(*this);
  std::copy(addresses.begin(), addresses.end(), addresses_.begin());
  const auto& state = resolve();
  if (has_plugins(engine_->plan()) && plugin_stream_ == nullptr)
    require(cudaStreamCreate(&plugin_stream_) == cudaSuccess, "cannot create a stream");
  prepare_outputs(*state, plugin_stream_);
  check_addresses(*state);
  wait();
  reserve_memory(state->memory.bytes);
  if (plugin_stream_ != nullptr) {
    const cudart::InPlace in_place(plugin_stream_);
    run(*state, addresses_, plugin_stream_);
  } else {
    run(*state, addresses_, nullptr);
  }
  if (profiler_ != nullptr && emits_profile) report_profile();
}

void Context::enqueue(cudaStream_t stream) {
  const InUse guard(*this);
  const auto& state = resolve();
  prepare_outputs(*state, stream);
  check_addresses(*state);
  if (memory_.bytes() < state->memory.bytes) {
    wait();
    reserve_memory(state->memory.bytes);
  }
  if (cudart::is_capturing(stream)) return capture({this, state, stream, addresses_, false, true});
  Job* job = take_job();
  job->state = state;
  job->stream = stream;
  std::copy(addresses_.begin(), addresses_.end(), job->addresses.begin());
  const cudaError_t status = cudart::enqueue(
      stream,
      [](void* data) {
        Job& job = *static_cast<Job*>(data);
        job.context->run_job(job);
      },
      job);
  if (status == cudaSuccess) return;
  give_back(*job);
  fail(ErrorCode::kINVALID_ARGUMENT, "cannot enqueue on this stream: {}",
       cudaGetErrorString(status));
}

// A graph may run the job many times, so it owns a copy.
void Context::capture(Job job) {
  auto owned = std::make_unique<Job>(std::move(job));
  const cudaError_t status = cudart::enqueue(
      owned->stream,
      [](void* data) {
        Job& job = *static_cast<Job*>(data);
        job.context->run_job(job);
      },
      owned.get(), [](void* data) { delete static_cast<Job*>(data); });
  if (status != cudaSuccess)
    fail(ErrorCode::kINVALID_ARGUMENT, "cannot enqueue on this stream: {}",
         cudaGetErrorString(status));
  static_cast<void>(owned.release());
}

Context::Job* Context::take_job() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return pending_ < static_cast<int>(kJobs); });
  Job* job = &*std::find_if(jobs_.begin(), jobs_.end(), [](const Job& j) { return !j.busy; });
  job->busy = true;
  ++pending_;
  return job;
}

void Context::give_back(Job& job) {
  const std::lock_guard lock(mutex_);
  job.state.reset();
  job.busy = false;
  --pending_;
  idle_.notify_all();
}

void Context::run_job(Job& job) noexcept {
  try {
    run(*job.state, job.addresses, job.stream);
    if (profiler_ != nullptr && emits_profile)
      for (size_t i = 0; i < layer_ms_.size(); ++i)
        profiler_->reportLayerTime(engine_->plan().steps[i].name.c_str(), layer_ms_[i]);
  } catch (const std::exception& e) {
    engine_->log().error("enqueueV3: {}", e.what());
    cudart::report_failure(cudaErrorLaunchFailure);
  }
  if (!job.captured) give_back(job);
}

void Context::run(ShapeState& state, const std::vector<void*>& addresses, cudaStream_t stream) {
  const std::lock_guard lock(run_mutex_);
  const Plan& plan = engine_->plan();
  std::byte* arena = memory_.data();
  for (size_t i = 0; i < plan.bindings.size(); ++i)
    state.pointers[static_cast<size_t>(plan.bindings[i].tensor)] =
        static_cast<std::byte*>(addresses[i]);
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor& t = plan.tensors[i];
    const void* data = nullptr;
    switch (t.place) {
      case Place::kArena:
        data = arena + state.offsets[i];
        break;
      case Place::kWeight:
        data = plan.weights[static_cast<size_t>(t.weight)].data();
        break;
      case Place::kHost:
        data = state.host[i].data();
        break;
      default:
        continue;
    }
    state.pointers[i] = static_cast<std::byte*>(const_cast<void*>(data));
  }
  const auto pointer = [&](int32_t tensor) -> std::byte* {
    return tensor < 0 ? nullptr : state.pointers[static_cast<size_t>(plan.root_of(tensor))];
  };
  using Clock = std::chrono::steady_clock;
  in_arena([&] {
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      const PlanStep& step = plan.steps[i];
      Execution* execution = state.executions[i].get();
      if (execution == nullptr) continue;
      auto& inputs = state.step_inputs[i];
      auto& outputs = state.step_outputs[i];
      for (size_t k = 0; k < inputs.size(); ++k) inputs[k] = pointer(step.inputs[k]);
      for (size_t k = 0; k < outputs.size(); ++k) outputs[k] = pointer(step.outputs[k]);
      const auto start = profiler_ != nullptr ? Clock::now() : Clock::time_point();
      try {
        execution->run({inputs, outputs, arena + state.scratch_offsets[i], stream});
      } catch (const Error& e) {
        throw Error(e.code(), fmt::format("layer {} ({}): {}", step.name, step.op, e.what()));
      }
      if (profiler_ != nullptr)
        layer_ms_[i] = std::chrono::duration<float, std::milli>(Clock::now() - start).count();
    }
  });
}

}  // namespace tenon
