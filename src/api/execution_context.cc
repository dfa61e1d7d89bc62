#include "api/execution_context.h"

#include <algorithm>
#include <utility>

#include "base/cuda_stream.h"
#include "plan/profiles.h"

namespace tenon {
namespace {

bool is_known(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](int64_t extent) { return extent >= 0; });
}

constexpr nvinfer1::Dims kNoShape{-1, {}};

}  // namespace

ContextView::ContextView(const EngineView& engine, bool own_memory)
    : Live(this, this),
      reporter_(engine.reporter()),
      current_(engine.current()),
      engine_(current_->get()),
      engine_view_(engine.self()),
      context_(std::make_unique<Context>(engine_, own_memory)),
      config_(reporter_),
      nvtx_(engine_->plan().verbosity) {
  mImpl = this;
  context_->on_failure = [this] { reporter_.report_current("enqueueV3"); };
}

ContextView::~ContextView() noexcept {
  if (context_->has_graphs()) current_->count_captured(-1);
}

void ContextView::follow_refit() {
  std::shared_ptr<const Engine> engine = current_->get();
  if (engine == engine_) return;
  context_ = std::make_unique<Context>(engine, *context_);
  engine_ = std::move(engine);
}

int ContextView::input(const char* name) const {
  const int found = binding(name);
  require(found < engine_->plan().input_count(), "'{}' is an output, not an input", name);
  return found;
}

int ContextView::output(const char* name) const {
  const int found = binding(name);
  require(found >= engine_->plan().input_count(), "'{}' is an input, not an output", name);
  return found;
}

const nvinfer1::ICudaEngine& ContextView::getEngine() const noexcept {
  if (const EngineView* engine = *engine_view_) return *engine;
  if (spare_view_ == nullptr) spare_view_ = std::make_unique<EngineView>(current_, reporter_);
  return *spare_view_;
}

void ContextView::setName(const char* name) noexcept {
  reporter_.run([&] { name_ = name != nullptr ? name : ""; });
}

void ContextView::setProfiler(nvinfer1::IProfiler* profiler) noexcept {
  reporter_.run([&] { context_->set_profiler(profiler); });
}

void ContextView::setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept {
  reporter_.run([&] {
    require(nbStreams >= 0 && (nbStreams == 0 || auxStreams != nullptr),
            "setAuxStreams: {} streams at {}; expected an address, and how many are there",
            nbStreams, auxStreams != nullptr ? fmt::format("{}", fmt::ptr(auxStreams)) : "null");
    std::vector<Stream*> streams(static_cast<size_t>(nbStreams));
    for (size_t i = 0; i < streams.size(); ++i) streams[i] = from_cuda(auxStreams[i]);
    context_->set_aux_streams(streams);
  });
}

bool ContextView::reportToProfiler() const noexcept {
  return reporter_.run([&] { context_->report_profile(); });
}

void ContextView::setDeviceMemory(void* memory) noexcept {
  setDeviceMemoryV2(memory, engine_->device_memory(-1));
}

void ContextView::setDeviceMemoryV2(void* memory, int64_t size) noexcept {
  reporter_.run([&] {
    require(size >= 0 && (memory != nullptr || size == 0), "{} bytes at a null address", size);
    context_->set_device_memory(memory, size);
  });
}

size_t ContextView::updateDeviceMemorySizeForShapes() noexcept {
  return reporter_.guard<size_t>(0, [&] {
    follow_refit();
    return static_cast<size_t>(context_->device_memory_needed());
  });
}

bool ContextView::allInputDimensionsSpecified() const noexcept {
  return reporter_.guard(false, [&] {
    for (int i = 0; i < engine_->plan().input_count(); ++i)
      if (!is_known(context_->tensor_shape(i))) return false;
    return true;
  });
}

bool ContextView::allInputShapesSpecified() const noexcept {
  return reporter_.guard(false, [&] { return context_->missing_inputs().empty(); });
}

bool ContextView::setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t) noexcept {
  return reporter_.run([&] { context_->set_profile(profileIndex); });
}

bool ContextView::setInputShape(const char* tensorName, const nvinfer1::Dims& dimensions) noexcept {
  return reporter_.run([&] {
    require(
        engine_->plan().max_batch == 0,
        "the engine has an implicit batch, and its shapes are fixed but for that: give the batch "
        "to execute() or enqueue()");
    context_->set_input_shape(input(tensorName), Shape(dimensions));
  });
}

nvinfer1::Dims ContextView::getTensorShape(const char* tensorName) const noexcept {
  return reporter_.guard(kNoShape, [&] {
    return public_shape(engine_->plan(), context_->tensor_shape(binding(tensorName)));
  });
}

nvinfer1::Dims ContextView::getTensorStrides(const char* tensorName) const noexcept {
  return reporter_.guard(kNoShape, [&] {
    const int index = binding(tensorName);
    const Shape strides =
        strides_of(context_->tensor_shape(index), engine_->binding_tensor(index).layout);
    return public_shape(engine_->plan(), strides);
  });
}

bool ContextView::setTensorAddress(const char* tensorName, void* data) noexcept {
  return reporter_.run([&] { context_->set_address(binding(tensorName), data); });
}

bool ContextView::setInputTensorAddress(const char* tensorName, const void* data) noexcept {
  return reporter_.run([&] { context_->set_address(input(tensorName), const_cast<void*>(data)); });
}

bool ContextView::setOutputTensorAddress(const char* tensorName, void* data) noexcept {
  return reporter_.run([&] { context_->set_address(output(tensorName), data); });
}

const void* ContextView::getTensorAddress(const char* tensorName) const noexcept {
  return reporter_.guard<const void*>(nullptr,
                                      [&] { return context_->address(binding(tensorName)); });
}

void* ContextView::getOutputTensorAddress(const char* tensorName) const noexcept {
  return reporter_.guard<void*>(nullptr, [&] { return context_->address(output(tensorName)); });
}

int32_t ContextView::inferShapes(int32_t capacity, const char** tensorNames) noexcept {
  return reporter_.guard(-1, [&] {
    require(capacity >= 0 && (capacity == 0 || tensorNames != nullptr),
            "there is no array for {} names", capacity);
    const std::vector<int> missing = context_->missing_inputs();
    for (size_t i = 0; i < missing.size() && i < static_cast<size_t>(capacity); ++i)
      tensorNames[i] = engine_->binding_tensor(missing[i]).name.c_str();
    if (missing.empty())
      for (size_t i = 0; i < engine_->plan().bindings.size(); ++i)
        context_->tensor_shape(static_cast<int>(i));
    return static_cast<int32_t>(missing.size());
  });
}

std::vector<Shape> ContextView::tensor_shapes() const {
  const Plan& plan = engine_->plan();
  if (!context_->missing_inputs().empty()) return {};
  std::vector<Shape> inputs;
  std::vector<std::vector<int64_t>> elements;
  for (int i = 0; i < plan.input_count(); ++i) {
    inputs.push_back(context_->tensor_shape(i));
    elements.emplace_back();
    if (plan.bindings[static_cast<size_t>(i)].is_shape)
      elements.back() =
          Tensor(engine_->binding_tensor(i).type, inputs.back(), nullptr, context_->address(i))
              .integers();
  }
  const auto values = plan.shapes.evaluate(symbol_values(plan, inputs, elements));
  std::vector<Shape> shapes;
  for (size_t i = 0; i < plan.tensors.size(); ++i)
    shapes.push_back(shape_of(plan, static_cast<int32_t>(i), values));
  return shapes;
}

bool ContextView::set_shape_values(const char* name, const int32_t* values) noexcept {
  return reporter_.run(
      [&] {
        const int index = input(name);
        require(values != nullptr, "input '{}': the values are null", name);
        require(engine_->plan().bindings[static_cast<size_t>(index)].is_shape,
                "input '{}' does not decide shapes", name);
        const Shape shape = context_->tensor_shape(index);
        require(is_known(shape), "input '{}' has no shape yet: call setInputShape", name);
        Tensor copy(engine_->binding_tensor(index).type, shape);
        for (int64_t i = 0; i < shape.volume(); ++i) {
          if (copy.type() == DataType::kINT64)
            copy.mutable_data<int64_t>()[i] = values[i];
          else if (copy.type() == DataType::kINT32)
            copy.mutable_data<int32_t>()[i] = values[i];
          else
            fail(ErrorCode::kINVALID_ARGUMENT, "input '{}' is of type {}", name,
                 name_of(copy.type()));
        }
        context_->wait();  // runs in flight read the values of before
        context_->set_address(index, copy.mutable_data<void>());
        shape_values_[index] = std::move(copy);
      },
      "tenonSetShapeValues");
}

bool ContextView::set_batch_size(int32_t batch) noexcept {
  return reporter_.run(
      [&] {
        const Plan& plan = engine_->plan();
        require(plan.max_batch > 0, "the engine has no implicit batch");
        require(batch >= 1 && batch <= plan.max_batch,
                "a batch of {} items: the engine was built for 1 to {} (IBuilder::setMaxBatchSize)",
                batch, plan.max_batch);
        for (int i = 0; i < plan.input_count(); ++i) {
          Shape shape = plan.bindings[static_cast<size_t>(i)].declared;
          shape[0] = batch;
          context_->set_input_shape(i, shape);
        }
        batch_is_set_ = true;
      },
      "tenonSetBatchSize");
}

void ContextView::take_batch() {
  const bool was_set = std::exchange(batch_is_set_, false);
  require(
      was_set || engine_->plan().max_batch == 0,
      "the engine has an implicit batch: call execute(batchSize, ...) or enqueue(batchSize, ...)");
}

bool ContextView::setOutputAllocator(const char* tensorName,
                                     nvinfer1::IOutputAllocator* outputAllocator) noexcept {
  return reporter_.run(
      [&] { context_->set_output_allocator(output(tensorName), outputAllocator); });
}

nvinfer1::IOutputAllocator* ContextView::getOutputAllocator(const char* tensorName) noexcept {
  return reporter_.guard<nvinfer1::IOutputAllocator*>(
      nullptr, [&] { return context_->output_allocator(output(tensorName)); });
}

int64_t ContextView::getMaxOutputSize(const char* tensorName) const noexcept {
  return reporter_.guard<int64_t>(-1, [&] {
    const int index = output(tensorName);
    const Plan& plan = engine_->plan();
    const int32_t tensor = plan.bindings[static_cast<size_t>(index)].tensor;
    // A size that the last run told is no bound for the next.
    const bool data_dependent = engine_->stages().tensors[static_cast<size_t>(tensor)] > 0;
    const PlanProfile& profile = plan.profiles[static_cast<size_t>(context_->profile())];
    Shape shape = context_->tensor_shape(index);
    if (data_dependent || !is_known(shape))
      shape = largest_shape(plan, tensor, symbols_at(plan, profile, ProfilePoint::kMax));
    if (!is_known(shape)) return int64_t{-1};
    const PlanTensor& t = engine_->binding_tensor(index);
    return static_cast<int64_t>(storage_bytes(t.type, shape, t.layout));
  });
}

bool ContextView::executeV2(void* const* bindings) noexcept {
  return reporter_.run([&] {
    require(bindings != nullptr, "the array of addresses is null");
    take_batch();
    follow_refit();
    context_->execute({bindings, engine_->plan().bindings.size()});
  });
}

bool ContextView::enqueueV3(cudaStream_t stream) noexcept {
  return reporter_.run([&] {
    take_batch();
    follow_refit();
    const bool had_graphs = context_->has_graphs();
    context_->enqueue(from_cuda(stream));
    if (!had_graphs && context_->has_graphs()) current_->count_captured(1);
    if (input_consumed_ == nullptr) return;
    const cudaError_t status = cudaEventRecord(input_consumed_, stream);
    require(status == cudaSuccess, "cannot record the input-consumed event: {}",
            cudaGetErrorString(status));
  });
}

bool ContextView::setNvtxVerbosity(nvinfer1::ProfilingVerbosity verbosity) noexcept {
  return reporter_.run([&] { nvtx_ = checked(verbosity); });
}

bool ContextView::setDebugListener(nvinfer1::IDebugListener* listener) noexcept {
  return reporter_.run([&] { context_->set_debug_listener(listener); });
}

template <class Visit>
void ContextView::for_debug_tensors(const char* name, const Visit& visit) const {
  const auto& list = engine_->plan().debug_tensors;
  bool found = false;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].unfused || list[i].name != name) continue;
    found = true;
    visit(i);
  }
  require(found, "tensor '{}' was not marked for debugging (INetworkDefinition::markDebug)", name);
}

bool ContextView::setTensorDebugState(const char* name, bool flag) noexcept {
  return reporter_.run([&] {
    require(name != nullptr, "the tensor name is null");
    for_debug_tensors(name, [&](size_t i) { context_->set_debug_state(i, flag); });
  });
}

bool ContextView::getDebugState(const char* name) const noexcept {
  return reporter_.guard(false, [&] {
    require(name != nullptr, "the tensor name is null");
    bool on = false;
    for_debug_tensors(name, [&](size_t i) { on = context_->debug_state(i); });
    return on;
  });
}

bool ContextView::setAllTensorsDebugState(bool flag) noexcept {
  return reporter_.run([&] {
    const size_t count = engine_->plan().debug_tensors.size();
    for (size_t i = 0; i < count; ++i) context_->set_debug_state(i, flag);
    unfused_debug_state_ = flag;
  });
}

bool ContextView::setUnfusedTensorsDebugState(bool flag) noexcept {
  return reporter_.run([&] {
    const auto& list = engine_->plan().debug_tensors;
    for (size_t i = 0; i < list.size(); ++i)
      if (list[i].unfused) context_->set_debug_state(i, flag);
    unfused_debug_state_ = flag;
  });
}

// Communicators: only "none" can be set.
bool ContextView::setCommunicator(void* communicator) noexcept {
  return reporter_.run([&] {
    if (communicator != nullptr) not_supported();
  });
}

}  // namespace tenon
