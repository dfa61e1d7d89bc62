#include "run/context.h"

#include <algorithm>

#include "base/parallel.h"
#include "plan/profiles.h"
#include "tenon/cudart/engine.h"

namespace tenon {
namespace {

// Shapes that a context goes back and forth between are kept ready.
constexpr size_t kKeptStates = 4;
// Runs that may be in flight before enqueue() waits.
constexpr size_t kJobs = 16;

// The engine's device is the current one of the thread while it lives.
class OnDevice {
 public:
  explicit OnDevice(const Engine& engine) : device_(engine.device()), before_(device_.current()) {
    changed_ = before_ != engine.device_index();
    if (changed_) device_.make_current(engine.device_index());
  }
  ~OnDevice() {
    if (changed_) device_.make_current(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  const Device& device_;
  int before_;
  bool changed_;
};

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
    : engine_(std::move(engine)),
      memory_(engine_->device(), engine_->allocator()),
      own_memory_(own_memory) {
  const size_t bindings = engine_->plan().bindings.size();
  borders_.addresses.resize(bindings);
  borders_.allocators.resize(bindings);
  reached_.resize(bindings);
  layer_ms_.resize(engine_->plan().steps.size());
  symbols_.resize(engine_->plan().symbols.size());
  for (int32_t i = 1; i < engine_->stages().count; ++i)
    stage_memory_.push_back(
        std::make_unique<DeviceMemory>(engine_->device(), engine_->allocator()));
  late_memory_.resize(engine_->plan().tensors.size());
  host_inputs_.resize(engine_->plan().steps.size());
  jobs_.resize(kJobs);
  for (Job& job : jobs_) {
    job.context = this;
    job.borders = borders_;
  }
  set_profile(0);
}

Context::~Context() {
  wait();
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
  if (last_run_ != nullptr) cudaEventDestroy(last_run_);
  for (cudaEvent_t event : events_) cudaEventDestroy(event);
}

void Context::wait() {
  if (last_run_ != nullptr) cudaEventSynchronize(last_run_);
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return pending_ == 0; });
}

void Context::set_profile(int profile) {
  const auto& profiles = engine_->plan().profiles;
  require(profile >= 0 && profile < static_cast<int>(profiles.size()),
          "profile {} does not exist; the engine has {}", profile, profiles.size());
  if (profile != profile_) release_memory();
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
  borders_.addresses[static_cast<size_t>(binding)] = data;
}

void Context::set_output_allocator(int binding, nvinfer1::IOutputAllocator* allocator) {
  borders_.allocators[static_cast<size_t>(binding)] = allocator;
}

std::vector<int> Context::missing_inputs() const {
  std::vector<int> missing;
  for (int i = missing_input(); i >= 0; i = missing_input(i + 1)) missing.push_back(i);
  return missing;
}

// The first one from `first` on, -1 for none.
int Context::missing_input(int first) const {
  for (auto i = static_cast<size_t>(first); i < input_shapes_.size(); ++i)
    if (!input_shapes_[i]
        || (engine_->plan().bindings[i].is_shape && borders_.addresses[i] == nullptr))
      return static_cast<int>(i);
  return -1;
}

Shape Context::tensor_shape(int binding) {
  const InUse guard(*this);
  const auto index = static_cast<size_t>(binding);
  if (index < input_shapes_.size())
    return input_shapes_[index].value_or(engine_->declared_shape(binding));
  if (!missing_inputs().empty()) return engine_->declared_shape(binding);
  const auto tensor = static_cast<size_t>(engine_->plan().bindings[index].tensor);
  read_symbols();
  check_values();
  if (!states_.empty() && states_.front()->stages[0].symbols == symbols_) {
    if (engine_->stages().tensors[tensor] == 0) return states_.front()->shapes[tensor];
    const std::lock_guard lock(run_mutex_);  // a run tells it
    return states_.front()->shapes[tensor];
  }
  check_dimensions();
  return shape_of(engine_->plan(), engine_->plan().bindings[index].tensor,
                  engine_->plan().shapes.evaluate(symbols_));
}

// The values of all symbols at the current inputs, into symbols_.
void Context::read_symbols() {
  const auto missing = missing_input();
  if (missing >= 0) {
    const auto i = static_cast<size_t>(missing);
    const std::string& name = engine_->binding_tensor(missing).name;
    require(input_shapes_[i].has_value(),
            "input '{}' has no shape yet: call setInputShape (its profile allows {} to {})", name,
            engine_->plan().profiles[static_cast<size_t>(profile_)].inputs[i].min,
            engine_->plan().profiles[static_cast<size_t>(profile_)].inputs[i].max);
    fail(ErrorCode::kINVALID_STATE,
         "input '{}' decides shapes and has no address yet: call setTensorAddress with host memory",
         name);
  }
  const Plan& plan = engine_->plan();
  for (size_t i = 0; i < input_shapes_.size(); ++i)
    if (plan.bindings[i].is_shape) check_reach(static_cast<int>(i), borders_.addresses[i]);
  for (size_t s = 0; s < plan.symbols.size(); ++s) {
    const PlanSymbol& symbol = plan.symbols[s];
    const auto binding = static_cast<size_t>(symbol.binding);
    if (symbol.is_late())
      symbols_[s] = Number::kUnknown;
    else if (!symbol.is_element)
      symbols_[s] = (*input_shapes_[binding])[symbol.index];
    else if (plan.bindings[binding].is_shape && symbol.index < input_shapes_[binding]->volume())
      symbols_[s] = element_at(borders_.addresses[binding],
                               engine_->binding_tensor(symbol.binding).type, symbol.index);
    else
      symbols_[s] = 0;
  }
}

// Inputs that share a named dimension must agree.
void Context::check_dimensions() const {
  const Plan& plan = engine_->plan();
  const auto values = plan.shapes.evaluate(symbols_);
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
}

// Shape inputs must be inside the profile.
void Context::check_values() const {
  const Plan& plan = engine_->plan();
  for (size_t s = 0; s < plan.symbols.size(); ++s) {
    const PlanSymbol& symbol = plan.symbols[s];
    if (!symbol.is_element || symbol.is_late()) continue;
    const auto& range =
        plan.profiles[static_cast<size_t>(profile_)].inputs[static_cast<size_t>(symbol.binding)];
    const auto at = static_cast<size_t>(symbol.index);
    if (at >= range.min_values.size()) continue;
    require(range.min_values[at] <= symbols_[s] && symbols_[s] <= range.max_values[at],
            "shape input '{}': element {} is {}, outside profile {}, which allows {} to {}",
            engine_->binding_tensor(symbol.binding).name, at, symbols_[s], profile_,
            range.min_values[at], range.max_values[at]);
  }
}

const std::shared_ptr<ShapeState>& Context::resolve(bool captured) {
  const bool values_may_change =
      std::any_of(engine_->plan().bindings.begin(), engine_->plan().bindings.end(),
                  [](const PlanBinding& b) { return b.is_input && b.is_shape; });
  if (!shapes_changed_ && !values_may_change) return states_.front();
  read_symbols();
  if (shapes_changed_) check_dimensions();
  check_values();
  const auto known = std::find_if(states_.begin(), states_.end(), [&](const auto& s) {
    return s->stages[0].symbols == symbols_ && holds_shape_inputs(*s);
  });
  if (known == states_.begin() && known != states_.end()) {
    shapes_changed_ = false;
    return *known;
  }
  require(on_host() || !captured,
          "a run with new shapes cannot be captured: call enqueueV3 with them once before");
  wait();  // work in flight uses the current memory
  if (known != states_.end()) {
    states_.splice(states_.begin(), states_, known);
  } else {
    auto made =
        make_shape_state(*engine_, symbols_, states_.empty() ? nullptr : states_.front().get());
    place_shape_inputs(*made);
    states_.push_front(std::move(made));
    if (states_.size() > kKeptStates) states_.pop_back();
  }
  shapes_changed_ = false;
  return states_.front();
}

void Context::set_device_memory(void* data, int64_t bytes) {
  const InUse guard(*this);
  require(data == nullptr || engine_->device().reaches(data),
          "the device memory at {} is host memory that the device cannot use", data);
  wait();
  const std::lock_guard lock(run_mutex_);
  memory_.borrow(data, bytes);
  own_memory_ = false;
}

int64_t Context::device_memory_needed() {
  const InUse guard(*this);
  return resolve()->stages[0].bytes;
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

// What runs of one profile took is of little use to those of another.
void Context::release_memory() {
  wait();
  const std::lock_guard lock(run_mutex_);
  states_.clear();
  if (own_memory_ && !has_graphs_) memory_.release();
  for (const auto& memory : stage_memory_) memory->release();
  for (auto& memory : late_memory_) memory.reset();
}

// The memory of an output, which its allocator gives if it has one.
void* Context::output_memory(const Borders& borders, int binding, const Shape& shape,
                             cudaStream_t stream) const {
  const auto index = static_cast<size_t>(binding);
  const PlanTensor& t = engine_->binding_tensor(binding);
  void* data = borders.addresses[index];
  if (nvinfer1::IOutputAllocator* allocator = borders.allocators[index]; allocator != nullptr) {
    const size_t bytes = bytes_of(t.type, shape.volume());
    data = allocator->reallocateOutputAsync(t.name.c_str(), data, std::max<size_t>(bytes, 1), 64,
                                            stream);
    if (data == nullptr)
      fail(ErrorCode::kFAILED_ALLOCATION,
           "output '{}': the output allocator gave no memory for {} bytes", t.name, bytes);
    allocator->notifyShape(t.name.c_str(), shape.dims());
  }
  return data;
}

void Context::check_address(int binding, const void* data, const Shape& shape) {
  if (shape.volume() == 0) return;
  if (data != nullptr) return check_reach(binding, data);
  fail(ErrorCode::kINVALID_STATE, "{} '{}' has no address: call setTensorAddress",
       engine_->plan().bindings[static_cast<size_t>(binding)].is_input ? "input" : "output",
       engine_->binding_tensor(binding).name);
}

// Whether an address is of memory that can be used there. A kernel on a device that cannot would
// take all other work of the process with it. The answer takes time: addresses seldom change.
void Context::check_reach(int binding, const void* data) {
  const void*& seen = reached_[static_cast<size_t>(binding)];
  if (on_host() || engine_->is_body() || data == seen) return;
  const PlanBinding& b = engine_->plan().bindings[static_cast<size_t>(binding)];
  const std::string& name = engine_->binding_tensor(binding).name;
  if (b.is_input && b.is_shape)
    require(engine_->device().host_reaches(data),
            "input '{}' is read on the host, and its address {} is the device's memory: give it "
            "host memory",
            name, data);
  else
    require(engine_->device().reaches(data),
            "{} '{}': its address {} is host memory that the device cannot use: give it memory of "
            "the device (cudaMalloc), or of the host that both can use (cudaMallocHost)",
            b.is_input ? "input" : "output", name, data);
  seen = data;
}

// Addresses of all inputs and outputs whose size is known before the network runs.
void Context::prepare_addresses(const ShapeState& state, cudaStream_t stream) {
  auto& addresses = borders_.addresses;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const auto tensor = static_cast<size_t>(engine_->plan().bindings[i].tensor);
    if (engine_->stages().tensors[tensor] > 0) {
      require(addresses[i] != nullptr || borders_.allocators[i] != nullptr,
              "output '{}' has no address: call setOutputAllocator, or setTensorAddress with "
              "getMaxOutputSize bytes",
              engine_->plan().tensors[tensor].name);
      continue;
    }
    const int binding = static_cast<int>(i);
    if (i >= input_shapes_.size())
      addresses[i] = output_memory(borders_, binding, state.shapes[tensor], stream);
    check_address(binding, addresses[i], state.shapes[tensor]);
  }
  require(own_memory_ || memory_.data() != nullptr || state.stages[0].bytes == 0,
          "the context was made without device memory: call setDeviceMemory first");
}

void Context::reserve_memory(int64_t bytes) {
  const std::lock_guard lock(run_mutex_);
  // A device's graphs hold addresses; the host's ask for them at each run.
  memory_.reserve(bytes, has_graphs_ && !on_host());
}

void Context::execute(std::span<void* const> addresses) {
  const InUse guard(*this);
  std::copy(addresses.begin(), addresses.end(), borders_.addresses.begin());
  const OnDevice device(*engine_);
  const auto& state = resolve();
  const bool wants_stream = !on_host() || !engine_->plan().plugins.empty();
  if (wants_stream && stream_ == nullptr)
    require(cudaStreamCreate(&stream_) == cudaSuccess, "cannot create a stream");
  prepare_addresses(*state, stream_);
  wait();
  reserve_memory(state->stages[0].bytes);
  if (!on_host()) {
    run(*state, borders_, stream_);
    const cudaError_t status = cudaStreamSynchronize(stream_);
    if (status != cudaSuccess)
      fail(ErrorCode::kFAILED_EXECUTION, "the run failed on the device: {}",
           cudaGetErrorString(status));
  } else if (stream_ != nullptr) {
    const cudart::InPlace in_place(stream_);
    run(*state, borders_, stream_);
  } else {
    run(*state, borders_, nullptr);
  }
  if (profiler_ != nullptr && emits_profile) report_profile();
}

void Context::enqueue(cudaStream_t stream) {
  const InUse guard(*this);
  const OnDevice device(*engine_);
  const auto& state = resolve(cudart::is_capturing(stream));
  prepare_addresses(*state, stream);
  if (!on_host()) return enqueue_on_device(state, stream);
  if (memory_.bytes() < state->stages[0].bytes) {
    wait();
    reserve_memory(state->stages[0].bytes);
  }
  if (cudart::is_capturing(stream)) return capture({this, state, stream, borders_, false, true});
  Job* job = take_job();
  job->state = state;
  job->stream = stream;
  job->borders = borders_;
  const cudaError_t status = cudart::enqueue(
      stream,
      [](void* data) {
        Job& job = *static_cast<Job*>(data);
        job.context->run_job(job);
      },
      job);
  if (status != cudaSuccess) {
    give_back(*job);
    fail(ErrorCode::kINVALID_ARGUMENT, "cannot enqueue on this stream: {}",
         cudaGetErrorString(status));
  }
  if (has_late_outputs()) wait();
}

bool Context::has_late_outputs() const {
  const auto& bindings = engine_->plan().bindings;
  return std::any_of(bindings.begin(), bindings.end(), [&](const PlanBinding& b) {
    return engine_->stages().tensors[static_cast<size_t>(b.tensor)] > 0;
  });
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
  has_graphs_ = true;
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

}  // namespace tenon
