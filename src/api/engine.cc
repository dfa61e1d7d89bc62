#include "api/engine.h"

#include <algorithm>

#include "api/engine_config.h"
#include "api/execution_context.h"
#include "api/host_memory.h"
#include "api/inspector.h"
#include "api/refitter.h"
#include "backend/target.h"
#include "base/tensor_format.h"
#include "builder/fit.h"
#include "plan/engine_information.h"
#include "plan/plan_file.h"

namespace tenon {
namespace {

using nvinfer1::OptProfileSelector;

std::vector<int32_t> as_int32(const std::vector<int64_t>& values) {
  std::vector<int32_t> result;
  for (int64_t v : values)
    result.push_back(static_cast<int32_t>(std::clamp<int64_t>(v, INT32_MIN, INT32_MAX)));
  return result;
}

// Plugins of the engine are code of the libraries.
std::shared_ptr<const Engine> engine_of(Plan plan, const Target& target, const Reporter& reporter,
                                        nvinfer1::IGpuAllocator* allocator,
                                        std::shared_ptr<const void> libraries,
                                        int64_t weight_budget = INT64_MAX) {
  auto engine = std::make_unique<const Engine>(std::move(plan), target, reporter.log(), allocator,
                                               false, weight_budget);
  return {engine.release(),
          [libraries = std::move(libraries)](const Engine* owned) { delete owned; }};
}

std::shared_ptr<CurrentEngine> loaded(Plan plan, const Reporter& reporter,
                                      nvinfer1::IGpuAllocator* allocator,
                                      const std::shared_ptr<const void>& libraries) {
  const Target& target = target_for(plan);
  return std::make_shared<CurrentEngine>(engine_of(fit(std::move(plan), target, reporter.log()),
                                                   target, reporter, allocator, libraries),
                                         libraries);
}

}  // namespace

int named_binding(const Engine& engine, const char* name) {
  require(name != nullptr, "the tensor name is null");
  const int found = engine.find_binding(name);
  if (found >= 0) return found;
  std::string names;
  for (size_t i = 0; i < engine.plan().bindings.size(); ++i)
    names +=
        fmt::format("{}'{}'", i > 0 ? ", " : "", engine.binding_tensor(static_cast<int>(i)).name);
  fail(ErrorCode::kINVALID_ARGUMENT, "the engine has no input or output '{}'; it has {}", name,
       names);
}

nvinfer1::Dims public_shape(const Plan& plan, Shape shape) {
  if (plan.max_batch > 0) shape.erase(0);
  return shape.dims();
}

EngineView::EngineView(Plan plan, const Reporter& reporter, nvinfer1::IGpuAllocator* allocator,
                       std::shared_ptr<const void> libraries)
    : EngineView(loaded(std::move(plan), reporter, allocator, libraries), reporter) {}

EngineView::EngineView(std::shared_ptr<CurrentEngine> current, const Reporter& reporter)
    : Live(this, this),
      reporter_(reporter),
      current_(std::move(current)),
      engine_(current_->get()),
      self_(std::make_shared<std::atomic<const EngineView*>>(this)) {
  mImpl = this;
  for (size_t i = 0; i < plan().bindings.size(); ++i) {
    const PlanTensor& t = engine_->binding_tensor(static_cast<int>(i));
    formats_.push_back(fmt::format("{} ({})", format_description(t.type, t.layout),
                                   name_of(format(static_cast<int>(i)))));
  }
  for (const PlanProfile& profile : plan().profiles) {
    auto& inputs = int32_values_.emplace_back();
    for (const auto& r : profile.inputs)
      inputs.push_back({as_int32(r.min_values), as_int32(r.opt_values), as_int32(r.max_values)});
  }
}

int EngineView::binding(const char* name) const {
  return named_binding(*engine_, name);
}

template <class Result, class Query>
Result EngineView::query(const char* name, Result fallback, Query&& query,
                         const char* where) const {
  return reporter_.guard(
      fallback, [&] { return static_cast<Result>(query(binding(name))); }, where);
}

const PlanProfile::Range& EngineView::range(const char* name, int32_t profile) const {
  const int index = binding(name);
  require(index < plan().input_count(), "'{}' is an output; profiles have ranges for inputs", name);
  require(profile >= 0 && profile < getNbOptimizationProfiles(),
          "profile {} does not exist; the engine has {}", profile, getNbOptimizationProfiles());
  return plan().profiles[static_cast<size_t>(profile)].inputs[static_cast<size_t>(index)];
}

int32_t EngineView::getNbLayers() const noexcept {
  return static_cast<int32_t>(plan().steps.size());
}

int32_t EngineView::getNbOptimizationProfiles() const noexcept {
  return static_cast<int32_t>(plan().profiles.size());
}

int32_t EngineView::getNbIOTensors() const noexcept {
  return static_cast<int32_t>(plan().bindings.size());
}

const char* EngineView::getIOTensorName(int32_t index) const noexcept {
  if (index < 0 || index >= getNbIOTensors()) return nullptr;
  return engine_->binding_tensor(index).name.c_str();
}

nvinfer1::IHostMemory* EngineView::serialize() const noexcept {
  return reporter_.guard<nvinfer1::IHostMemory*>(
      nullptr, [&] { return new HostMemory(write_plan(plan())); }, "ICudaEngine::serialize");
}

nvinfer1::ISerializationConfig* EngineView::createSerializationConfig() noexcept {
  return reporter_.guard<nvinfer1::ISerializationConfig*>(nullptr,
                                                          [] { return new SerializationConfig; });
}

nvinfer1::IHostMemory* EngineView::serializeWithConfig(
    nvinfer1::ISerializationConfig& config) const noexcept {
  return reporter_.guard<nvinfer1::IHostMemory*>(nullptr, [&] {
    const SerializationConfig* ours = SerializationConfig::find(&config);
    require(ours != nullptr, "the configuration is not one of this library");
    if (!ours->getFlag(nvinfer1::SerializationFlag::kEXCLUDE_WEIGHTS))
      return new HostMemory(write_plan(plan()));
    require(plan().is_refittable(),
            "kEXCLUDE_WEIGHTS: the engine is not refittable, and would never run without weights: "
            "build it with BuilderFlag::kREFIT");
    return new HostMemory(write_plan(stripped(plan())));
  });
}

nvinfer1::IExecutionContext* EngineView::createExecutionContext(
    nvinfer1::ExecutionContextAllocationStrategy strategy) noexcept {
  return reporter_.guard<nvinfer1::IExecutionContext*>(nullptr, [&] {
    return new ContextView(
        *this, checked(strategy) != nvinfer1::ExecutionContextAllocationStrategy::kUSER_MANAGED);
  });
}

nvinfer1::IExecutionContext* EngineView::createExecutionContextWithoutDeviceMemory() noexcept {
  return reporter_.guard<nvinfer1::IExecutionContext*>(
      nullptr, [&] { return new ContextView(*this, false); });
}

nvinfer1::IExecutionContext* EngineView::createExecutionContextWithRuntimeConfig(
    nvinfer1::IRuntimeConfig* runtimeConfig) noexcept {
  return reporter_.guard<nvinfer1::IExecutionContext*>(nullptr, [&] {
    const RuntimeConfig* ours = RuntimeConfig::find(runtimeConfig);
    require(ours != nullptr, "the configuration is null or not one of this library");
    return createExecutionContext(ours->getExecutionContextAllocationStrategy());
  });
}

nvinfer1::IRuntimeConfig* EngineView::createRuntimeConfig() noexcept {
  return reporter_.guard<nvinfer1::IRuntimeConfig*>(nullptr,
                                                    [&] { return new RuntimeConfig(reporter_); });
}

nvinfer1::IEngineInspector* EngineView::createEngineInspector() const noexcept {
  return reporter_.guard<nvinfer1::IEngineInspector*>(
      nullptr, [&] { return new Inspector(engine_, reporter_); });
}

nvinfer1::IRefitter* EngineView::createRefitter(nvinfer1::ILogger& logger) noexcept {
  return reporter_.guard<nvinfer1::IRefitter*>(nullptr,
                                               [&] { return new RefitterView(*this, logger); });
}

void EngineView::refit(std::span<const std::optional<Tensor>> given) {
  const Target& target = target_for(plan());
  auto engine = engine_of(refitted(plan(), given, target, reporter_.log()), target, reporter_,
                          engine_->allocator(), current_->libraries(), engine_->weight_budget());
  current_->replace(engine);
  engine_ = std::move(engine);
}

int64_t EngineView::getDeviceMemorySizeV2() const noexcept {
  return engine_->device_memory(-1);
}

size_t EngineView::getDeviceMemorySize() const noexcept {
  return static_cast<size_t>(getDeviceMemorySizeV2());
}

int64_t EngineView::getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept {
  if (profileIndex < 0 || profileIndex >= getNbOptimizationProfiles()) return 0;
  return engine_->device_memory(profileIndex);
}

size_t EngineView::getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept {
  return static_cast<size_t>(getDeviceMemorySizeForProfileV2(profileIndex));
}

nvinfer1::Dims EngineView::getTensorShape(const char* tensorName) const noexcept {
  return query(tensorName, nvinfer1::Dims{-1, {}},
               [&](int b) { return public_shape(plan(), engine_->declared_shape(b)); });
}

DataType EngineView::getTensorDataType(const char* tensorName) const noexcept {
  return query(tensorName, DataType::kFLOAT,
               [&](int b) { return engine_->binding_tensor(b).type; });
}

bool EngineView::isShapeInferenceIO(const char* tensorName) const noexcept {
  return query(tensorName, false,
               [&](int b) { return plan().bindings[static_cast<size_t>(b)].is_shape; });
}

nvinfer1::TensorLocation EngineView::getTensorLocation(const char* tensorName) const noexcept {
  return isShapeInferenceIO(tensorName) ? nvinfer1::TensorLocation::kHOST
                                        : nvinfer1::TensorLocation::kDEVICE;
}

nvinfer1::TensorIOMode EngineView::getTensorIOMode(const char* tensorName) const noexcept {
  const int found = tensorName != nullptr ? engine_->find_binding(tensorName) : -1;
  if (found < 0) return nvinfer1::TensorIOMode::kNONE;
  return found < plan().input_count() ? nvinfer1::TensorIOMode::kINPUT
                                      : nvinfer1::TensorIOMode::kOUTPUT;
}

nvinfer1::TensorFormat EngineView::format(int binding) const {
  const PlanTensor& t = engine_->binding_tensor(binding);
  return format_of(t.layout, static_cast<int>(t.extents.size()));
}

// Of formats whose elements are vectors of channels; of others these functions say -1.

int32_t EngineView::getTensorBytesPerComponent(const char* tensorName) const noexcept {
  return query(tensorName, -1, [&](int b) {
    const PlanTensor& t = engine_->binding_tensor(b);
    return channel_block(t.layout) > 1 ? static_cast<int>(bytes_of(t.type, 1)) : -1;
  });
}

int32_t EngineView::getTensorComponentsPerElement(const char* tensorName) const noexcept {
  return query(tensorName, -1, [&](int b) {
    const int block = channel_block(engine_->binding_tensor(b).layout);
    return block > 1 ? block : -1;
  });
}

int32_t EngineView::getTensorVectorizedDim(const char* tensorName) const noexcept {
  return query(tensorName, -1, [&](int b) {
    const Layout layout = engine_->binding_tensor(b).layout;
    if (channel_block(layout) == 1) return -1;
    return plan().max_batch > 0 ? 0 : channel_axis(layout);
  });
}

nvinfer1::TensorFormat EngineView::getTensorFormat(const char* tensorName) const noexcept {
  return query(tensorName, nvinfer1::TensorFormat::kLINEAR, [&](int b) { return format(b); });
}

const char* EngineView::getTensorFormatDesc(const char* tensorName) const noexcept {
  return query<const char*>(tensorName, nullptr,
                            [&](int b) { return formats_[static_cast<size_t>(b)].c_str(); });
}

int32_t EngineView::getTensorBytesPerComponentV2(const char* tensorName, int32_t) const noexcept {
  return getTensorBytesPerComponent(tensorName);
}

int32_t EngineView::getTensorComponentsPerElementV2(const char* tensorName,
                                                    int32_t) const noexcept {
  return getTensorComponentsPerElement(tensorName);
}

nvinfer1::TensorFormat EngineView::getTensorFormatV2(const char* tensorName,
                                                     int32_t) const noexcept {
  return getTensorFormat(tensorName);
}

const char* EngineView::getTensorFormatDescV2(const char* tensorName, int32_t) const noexcept {
  return getTensorFormatDesc(tensorName);
}

int32_t EngineView::getTensorVectorizedDimV2(const char* tensorName, int32_t) const noexcept {
  return getTensorVectorizedDim(tensorName);
}

nvinfer1::Dims EngineView::getProfileShape(const char* tensorName, int32_t profileIndex,
                                           OptProfileSelector selector) const noexcept {
  return reporter_.guard(nvinfer1::Dims{-1, {}}, [&] {
    const auto& r = range(tensorName, profileIndex);
    const Shape* points[] = {&r.min, &r.opt, &r.max};
    return public_shape(plan(), *points[static_cast<size_t>(checked(selector))]);
  });
}

const int32_t* EngineView::getProfileTensorValues(const char* tensorName, int32_t profileIndex,
                                                  OptProfileSelector selector) const noexcept {
  return reporter_.guard<const int32_t*>(nullptr, [&]() -> const int32_t* {
    range(tensorName, profileIndex);
    const auto& values =
        int32_values_[static_cast<size_t>(profileIndex)][static_cast<size_t>(binding(tensorName))]
                     [static_cast<size_t>(checked(selector))];
    return values.empty() ? nullptr : values.data();
  });
}

const int64_t* EngineView::getProfileTensorValuesV2(const char* tensorName, int32_t profileIndex,
                                                    OptProfileSelector selector) const noexcept {
  return reporter_.guard<const int64_t*>(nullptr, [&]() -> const int64_t* {
    const auto& r = range(tensorName, profileIndex);
    const std::vector<int64_t>* points[] = {&r.min_values, &r.opt_values, &r.max_values};
    const auto& values = *points[static_cast<size_t>(checked(selector))];
    return values.empty() ? nullptr : values.data();
  });
}

bool EngineView::isDebugTensor(const char* name) const noexcept {
  return reporter_.guard(false, [&] {
    require(name != nullptr, "the tensor name is null");
    const auto& list = plan().debug_tensors;
    return std::any_of(list.begin(), list.end(),
                       [&](const PlanDebugTensor& t) { return !t.unfused && t.name == name; });
  });
}

bool EngineView::setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept {
  // -1 and 0 have other meanings than in the second version.
  if (gpuMemoryBudget == 0) return setWeightStreamingBudgetV2(getStreamableWeightsSize());
  return setWeightStreamingBudgetV2(gpuMemoryBudget == -1 ? getWeightStreamingAutomaticBudget()
                                                          : gpuMemoryBudget);
}

bool EngineView::setWeightStreamingBudgetV2(int64_t gpuMemoryBudget) noexcept {
  return reporter_.run([&] {
    const int64_t streamable = getStreamableWeightsSize();
    require(gpuMemoryBudget >= 0 && gpuMemoryBudget <= streamable,
            "a budget of {} bytes: expected 0 to {}, the size of weights that can be streamed{}",
            gpuMemoryBudget, streamable,
            engine_->device().is_host() ? "; on a CPU they are in the host's memory" : "");
    if (streamable == 0 || gpuMemoryBudget == getWeightStreamingBudgetV2()) return;
    auto engine = engine_of(plan(), target_for(plan()), reporter_, engine_->allocator(),
                            current_->libraries(), gpuMemoryBudget);
    current_->replace(engine);
    engine_ = std::move(engine);
  });
}

int64_t EngineView::getWeightStreamingBudgetV2() const noexcept {
  return std::min(engine_->weight_budget(), getStreamableWeightsSize());
}

int64_t EngineView::getStreamableWeightsSize() const noexcept {
  return engine_->streaming().streamable;
}

int64_t EngineView::getWeightStreamingScratchMemorySize() const noexcept {
  return 2 * engine_->streaming().step_bytes;
}

int64_t EngineView::getWeightStreamingAutomaticBudget() const noexcept {
  size_t free = 0, total = 0;
  if (getStreamableWeightsSize() == 0 || cudaMemGetInfo(&free, &total) != cudaSuccess) return 0;
  // Beside what lies there now there is memory for a context, and an eighth for others.
  const auto beside = static_cast<int64_t>(free - free / 8) - engine_->device_memory(-1);
  return std::clamp<int64_t>(beside + engine_->streaming().resident, 0, getStreamableWeightsSize());
}

int64_t EngineView::getEngineStat(nvinfer1::EngineStat stat) const noexcept {
  return reporter_.guard<int64_t>(-1, [&] {
    uint64_t bytes = 0;
    if (checked(stat) == nvinfer1::EngineStat::kTOTAL_WEIGHTS_SIZE)
      for (const Tensor& weight : plan().weights) bytes += weight.bytes();
    else
      for (const RefittableWeights& weights : refittable_weights(plan()))
        if (!weights.current.has_data()) bytes += weights.current.bytes();
    return static_cast<int64_t>(bytes);
  });
}

}  // namespace tenon
