#include "run/context.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "base/cuda_stream.h"
#include "run/context_guards.h"

namespace tenon {
namespace {

// Runs that may be in flight before enqueue() waits.
constexpr size_t kJobs = 16;

}  // namespace

Context::Context(std::shared_ptr<const Engine> engine, bool own_memory)
    : engine_(std::move(engine)),
      memory_(engine_->device(), engine_->allocator()),
      own_memory_(own_memory),
      step_streams_(engine_->device(), engine_->streams()),
      step_timer_(engine_->device(), engine_->plan().steps.size()),
      step_weights_(*engine_) {
  require(!engine_->plan().is_stripped,
          "the plan is stripped of its weights: refit the engine first (IRefitter)");
  const auto make_memory = [this] {
    return std::make_unique<DeviceMemory>(engine_->device(), engine_->allocator());
  };
  const size_t bindings = engine_->plan().bindings.size();
  bindings_.addresses.resize(bindings);
  bindings_.allocators.resize(bindings);
  reached_.resize(bindings);
  symbols_.resize(engine_->plan().symbols.size());
  debug_states_.resize(engine_->plan().debug_tensors.size());
  for (int32_t i = 1; i < engine_->stages().count; ++i) stage_memory_.push_back(make_memory());
  for (const PlanTensor& t : engine_->plan().tensors)
    data_dependent_memory_.push_back(t.place == PlanTensor::Place::kDataDependent ? make_memory()
                                                                                  : nullptr);
  host_inputs_.resize(engine_->plan().steps.size());
  jobs_.resize(kJobs);
  for (Job& job : jobs_) {
    job.context = this;
    job.bound = bindings_;
  }
  set_profile(0);
}

Context::Context(std::shared_ptr<const Engine> engine, Context& before)
    : Context(std::move(engine), before.own_memory_) {
  before.wait();
  profile_ = before.profile_;
  input_shapes_ = before.input_shapes_;
  bindings_ = before.bindings_;
  if (!own_memory_) memory_.borrow(before.memory_.data(), before.memory_.bytes());
  step_streams_.set_auxiliary(before.step_streams_.auxiliary());
  profiler_ = before.profiler_;
  emits_profile = before.emits_profile;
  on_failure = before.on_failure;
  debug_listener_ = before.debug_listener_;
  std::unordered_set<std::string_view> debugged;
  const auto& tensors_before = before.engine_->plan().debug_tensors;
  for (size_t i = 0; i < tensors_before.size(); ++i)
    if (before.debug_states_[i]) debugged.insert(tensors_before[i].name);
  const auto& tensors = engine_->plan().debug_tensors;
  for (size_t i = 0; i < tensors.size(); ++i) debug_states_[i] = debugged.contains(tensors[i].name);
}

Context::~Context() {
  wait();
  if (stream_ != nullptr) engine_->device().destroy(stream_);
  if (last_run_ != nullptr) engine_->device().destroy(last_run_);
}

void Context::wait() {
  // What failed is the run's, which says so.
  if (last_run_ != nullptr) static_cast<void>(engine_->device().synchronize(last_run_));
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return pending_ == 0; });
}

void Context::set_address(int binding, void* data) {
  bindings_.addresses[static_cast<size_t>(binding)] = data;
}

void Context::set_output_allocator(int binding, nvinfer1::IOutputAllocator* allocator) {
  bindings_.allocators[static_cast<size_t>(binding)] = allocator;
}

void Context::set_temporary_allocator(nvinfer1::IGpuAllocator* allocator) {
  bindings_.temporary = allocator;
}

void Context::set_device_memory(void* data, int64_t bytes) {
  const InUse guard(*this);
  const OnDevice device(*engine_);
  require(data == nullptr || engine_->device().reaches(data), "the device memory at {} {}", data,
          engine_->device().why_not_reached());
  wait();
  const std::lock_guard lock(run_mutex_);
  memory_.borrow(data, bytes);
  own_memory_ = false;
}

int64_t Context::device_memory_needed() {
  const InUse guard(*this);
  const OnDevice device(*engine_);
  return resolve()->stages[0].bytes;
}

void Context::set_aux_streams(std::span<Stream* const> streams) {
  const InUse guard(*this);
  step_streams_.set_auxiliary(streams);
}

void Context::set_profiler(nvinfer1::IProfiler* profiler) {
  wait();
  profiler_ = profiler;
}

void Context::set_debug_listener(nvinfer1::IDebugListener* listener) {
  wait();
  debug_listener_ = listener;
}

void Context::set_debug_state(size_t index, bool on) {
  wait();
  debug_states_[index] = on;
}

void Context::report_profile() {
  wait();
  require(profiler_ != nullptr, "the context has no profiler");
  report_times();
}

void Context::report_times() {
  const auto& ms = step_timer_.read();
  for (size_t i = 0; i < ms.size(); ++i)
    profiler_->reportLayerTime(engine_->plan().steps[i].name.c_str(), ms[i]);
}

// What runs of one profile took is of little use to those of another.
void Context::release_memory() {
  wait();
  const std::lock_guard lock(run_mutex_);
  states_.clear();
  if (own_memory_ && !has_graphs_) memory_.release();
  for (const auto& memory : stage_memory_) memory->release();
  for (const auto& memory : data_dependent_memory_)
    if (memory != nullptr) memory->release();
}

// The memory of an output, which its allocator gives if it has one.
void* Context::output_memory(const Bindings& bound, int binding, const Shape& shape,
                             Stream* stream) const {
  const auto index = static_cast<size_t>(binding);
  const PlanTensor& t = engine_->binding_tensor(binding);
  void* data = bound.addresses[index];
  if (nvinfer1::IOutputAllocator* allocator = bound.allocators[index]; allocator != nullptr) {
    const size_t bytes = storage_bytes(t.type, shape, t.layout);
    data = allocator->reallocateOutputAsync(t.name.c_str(), data, std::max<size_t>(bytes, 1), 64,
                                            to_cuda(stream));
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
  fail(ErrorClass::kAddress, "{} '{}' has no address: call setTensorAddress",
       engine_->plan().bindings[static_cast<size_t>(binding)].is_input ? "input" : "output",
       engine_->binding_tensor(binding).name);
}

// Whether an address is of memory that can be used there. A kernel on a device that cannot would
// take all other work of the process with it. The answer takes time: addresses seldom change.
void Context::check_reach(int binding, const void* data) {
  const void*& seen = reached_[static_cast<size_t>(binding)];
  if (engine_->is_body() || data == seen) return;
  const PlanBinding& b = engine_->plan().bindings[static_cast<size_t>(binding)];
  const std::string& name = engine_->binding_tensor(binding).name;
  const Device& device = engine_->device();
  // Texts are made of what fails alone: this is part of each run at new addresses.
  const auto refuse = [](const std::string& text) {
    throw Error(ErrorCode::kINVALID_ARGUMENT, ErrorClass::kAddress, text);
  };
  if (b.is_input && b.is_shape) {
    if (!device.host_reaches(data))
      refuse(
          fmt::format("input '{}' is read on the host, and its address {} is a GPU's memory: "
                      "give it host memory",
                      name, data));
  } else if (!device.reaches(data)) {
    refuse(fmt::format("{} '{}': its address {} {}", b.is_input ? "input" : "output", name, data,
                       device.why_not_reached()));
  }
  const size_t element = bytes_of(engine_->binding_tensor(binding).type, 1);
  if (!on_host() && reinterpret_cast<uintptr_t>(data) % element != 0)
    refuse(fmt::format("{} '{}': its address {} is no multiple of the {} bytes of an element",
                       b.is_input ? "input" : "output", name, data, element));
  seen = data;
}

// Addresses of all inputs and outputs whose size is known before the network runs.
void Context::prepare_addresses(const ShapeState& state, Stream* stream) {
  auto& addresses = bindings_.addresses;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const auto tensor = static_cast<size_t>(engine_->plan().bindings[i].tensor);
    if (engine_->stages().tensors[tensor] > 0) {
      require(addresses[i] != nullptr || bindings_.allocators[i] != nullptr, ErrorClass::kAddress,
              "output '{}' has no address: call setOutputAllocator, or setTensorAddress with "
              "getMaxOutputSize bytes",
              engine_->plan().tensors[tensor].name);
      continue;
    }
    const int binding = static_cast<int>(i);
    if (i >= input_shapes_.size())
      addresses[i] = output_memory(bindings_, binding, state.shapes[tensor], stream);
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
  std::copy(addresses.begin(), addresses.end(), bindings_.addresses.begin());
  const OnDevice device(*engine_);
  const auto& state = resolve();
  const bool wants_stream = !on_host() || !engine_->plan().plugins.empty();
  if (wants_stream && stream_ == nullptr)
    require(engine_->device().create_stream(stream_) == nullptr, "cannot create a stream");
  prepare_addresses(*state, stream_);
  wait();
  reserve_memory(state->stages[0].bytes);
  if (!on_host()) {
    run(*state, bindings_, stream_);
    if (Failure failure = engine_->device().synchronize(stream_))
      fail(ErrorCode::kFAILED_EXECUTION, "the run failed on the device: {}", failure);
  } else if (stream_ != nullptr) {
    engine_->device().run_in_place(stream_, [&] { run(*state, bindings_, stream_); });
  } else {
    run(*state, bindings_, nullptr);
  }
  if (profiler_ != nullptr && emits_profile) report_profile();
}

void Context::enqueue(Stream* stream) {
  const InUse guard(*this);
  const OnDevice device(*engine_);
  const Device& streams = engine_->device();
  const auto& state = resolve(streams.is_capturing(stream));
  prepare_addresses(*state, stream);
  if (!on_host()) return enqueue_on_device(state, stream);
  if (memory_.bytes() < state->stages[0].bytes) {
    wait();
    reserve_memory(state->stages[0].bytes);
  }
  if (streams.is_capturing(stream)) {
    Job job;
    job.context = this;
    job.state = state;
    job.stream = stream;
    job.bound = bindings_;
    job.captured = true;
    return capture(std::move(job));
  }
  const bool awaited = calls_the_application();
  if (awaited && !streams.enqueued_may_use_device()) return run_when_idle(*state, stream);
  Job* job = take_job();
  job->state = state;
  job->stream = stream;
  job->bound = bindings_;
  job->awaited = awaited;
  const auto run = [](void* data) {
    Job& job = *static_cast<Job*>(data);
    job.context->run_job(job);
  };
  if (Failure failure = streams.enqueue(stream, run, job, nullptr)) {
    give_back(*job);
    fail(ErrorCode::kINVALID_ARGUMENT, "cannot enqueue on this stream: {}", failure);
  }
  if (awaited) finish(*job);
}

// What a GPU's stream calls must not call CUDA, and the application's code does.
void Context::run_when_idle(ShapeState& state, Stream* stream) {
  wait();
  if (Failure failure = engine_->device().synchronize(stream))
    fail(ErrorCode::kFAILED_EXECUTION, "earlier work of the stream failed: {}", failure);
  run(state, bindings_, stream);
  if (profiler_ != nullptr && emits_profile) report_times();
}

bool Context::has_data_dependent_outputs() const {
  const auto& bindings = engine_->plan().bindings;
  return std::any_of(bindings.begin(), bindings.end(), [&](const PlanBinding& b) {
    return engine_->stages().tensors[static_cast<size_t>(b.tensor)] > 0;
  });
}

// Applications expect what their code refuses as the result of enqueueV3(), and read the shapes of
// outputs next.
bool Context::calls_the_application() const {
  const bool listens =
      debug_listener_ != nullptr
      && std::find(debug_states_.begin(), debug_states_.end(), true) != debug_states_.end();
  return listens || !engine_->plan().plugins.empty() || has_data_dependent_outputs();
}

// A graph may run the job many times, so it owns a copy.
void Context::capture(Job job) {
  auto owned = std::make_unique<Job>(std::move(job));
  const auto run = [](void* data) {
    Job& job = *static_cast<Job*>(data);
    job.context->run_job(job);
  };
  const auto release = [](void* data) { delete static_cast<Job*>(data); };
  if (Failure failure = engine_->device().enqueue(owned->stream, run, owned.get(), release))
    fail(ErrorCode::kINVALID_ARGUMENT, "cannot enqueue on this stream: {}", failure);
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
  job.busy = job.over = false;
  --pending_;
  idle_.notify_all();
}

// Waits for a job that is awaited, and throws what its run threw.
void Context::finish(Job& job) {
  {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return job.over; });
  }
  const std::exception_ptr failure = std::exchange(job.failure, nullptr);
  give_back(job);
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace tenon
