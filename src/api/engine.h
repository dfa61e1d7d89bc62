// ICudaEngine: a view of an Engine, which its execution contexts keep alive.
#pragma once

#include <NvInfer.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "api/current_engine.h"
#include "api/guard.h"
#include "api/live.h"
#include "run/engine.h"

namespace tenon {

class EngineView final : public nvinfer1::ICudaEngine,
                         public nvinfer1::apiv::VCudaEngine,
                         public Live<EngineView, nvinfer1::ICudaEngine> {
 public:
  /// @param libraries what keeps those of the plan loaded, for as long as the engine lives.
  EngineView(Plan plan, const Reporter& reporter, nvinfer1::IGpuAllocator* allocator,
             std::shared_ptr<const void> libraries = nullptr);
  EngineView(std::shared_ptr<CurrentEngine> current, const Reporter& reporter);
  ~EngineView() noexcept override { *self_ = nullptr; }

  const Engine& engine() const { return *engine_; }
  const std::shared_ptr<CurrentEngine>& current() const { return current_; }
  const Plan& plan() const { return engine_->plan(); }
  const Reporter& reporter() const { return reporter_; }
  /// Points to this view as long as it exists.
  using Self = std::shared_ptr<std::atomic<const EngineView*>>;
  const Self& self() const { return self_; }
  /// Contexts run with these weights from their next run on. No other thread may use this view
  /// meanwhile; contexts may run.
  /// @param given as for refitted().
  void refit(std::span<const std::optional<Tensor>> given);

  nvinfer1::ICudaEngine* getPImpl() noexcept override { return this; }
  int32_t getNbLayers() const noexcept override;
  nvinfer1::IHostMemory* serialize() const noexcept override;
  nvinfer1::IExecutionContext* createExecutionContext(
      nvinfer1::ExecutionContextAllocationStrategy strategy) noexcept override;
  nvinfer1::IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept override;
  size_t getDeviceMemorySize() const noexcept override;
  bool isRefittable() const noexcept override { return plan().is_refittable(); }
  const char* getName() const noexcept override { return plan().name.c_str(); }
  int32_t getNbOptimizationProfiles() const noexcept override;
  const int32_t* getProfileTensorValues(
      const char* tensorName, int32_t profileIndex,
      nvinfer1::OptProfileSelector selector) const noexcept override;
  nvinfer1::EngineCapability getEngineCapability() const noexcept override {
    return nvinfer1::EngineCapability::kSTANDARD;
  }
  void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override {
    reporter_.set_recorder(recorder);
  }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override {
    return reporter_.recorder();
  }
  bool hasImplicitBatchDimension() const noexcept override { return plan().max_batch > 0; }
  nvinfer1::TacticSources getTacticSources() const noexcept override { return 0; }
  nvinfer1::ProfilingVerbosity getProfilingVerbosity() const noexcept override {
    return plan().verbosity;
  }
  nvinfer1::IEngineInspector* createEngineInspector() const noexcept override;
  nvinfer1::Dims getTensorShape(const char* tensorName) const noexcept override;
  DataType getTensorDataType(const char* tensorName) const noexcept override;
  nvinfer1::TensorLocation getTensorLocation(const char* tensorName) const noexcept override;
  bool isShapeInferenceIO(const char* tensorName) const noexcept override;
  nvinfer1::TensorIOMode getTensorIOMode(const char* tensorName) const noexcept override;
  int32_t getTensorBytesPerComponent(const char* tensorName) const noexcept override;
  int32_t getTensorComponentsPerElement(const char* tensorName) const noexcept override;
  nvinfer1::TensorFormat getTensorFormat(const char* tensorName) const noexcept override;
  const char* getTensorFormatDesc(const char* tensorName) const noexcept override;
  int32_t getTensorVectorizedDim(const char* tensorName) const noexcept override;
  nvinfer1::Dims getProfileShape(const char* tensorName, int32_t profileIndex,
                                 nvinfer1::OptProfileSelector selector) const noexcept override;
  int32_t getNbIOTensors() const noexcept override;
  const char* getIOTensorName(int32_t index) const noexcept override;
  nvinfer1::HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept override {
    return nvinfer1::HardwareCompatibilityLevel::kNONE;
  }
  int32_t getNbAuxStreams() const noexcept override { return engine_->streams().auxiliary; }
  int32_t getTensorBytesPerComponentV2(const char* tensorName,
                                       int32_t profileIndex) const noexcept override;
  int32_t getTensorComponentsPerElementV2(const char* tensorName,
                                          int32_t profileIndex) const noexcept override;
  nvinfer1::TensorFormat getTensorFormatV2(const char* tensorName,
                                           int32_t profileIndex) const noexcept override;
  const char* getTensorFormatDescV2(const char* tensorName,
                                    int32_t profileIndex) const noexcept override;
  int32_t getTensorVectorizedDimV2(const char* tensorName,
                                   int32_t profileIndex) const noexcept override;
  nvinfer1::ISerializationConfig* createSerializationConfig() noexcept override;
  nvinfer1::IHostMemory* serializeWithConfig(
      nvinfer1::ISerializationConfig& config) const noexcept override;
  size_t getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept override;
  nvinfer1::IRefitter* createRefitter(nvinfer1::ILogger& logger) noexcept override;
  bool setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept override;
  int64_t getWeightStreamingBudget() const noexcept override {
    return getWeightStreamingBudgetV2();
  }
  int64_t getMinimumWeightStreamingBudget() const noexcept override { return 0; }
  int64_t getStreamableWeightsSize() const noexcept override;
  bool isDebugTensor(const char* name) const noexcept override;
  bool setWeightStreamingBudgetV2(int64_t gpuMemoryBudget) noexcept override;
  int64_t getWeightStreamingBudgetV2() const noexcept override;
  int64_t getWeightStreamingAutomaticBudget() const noexcept override;
  int64_t getWeightStreamingScratchMemorySize() const noexcept override;
  int64_t getDeviceMemorySizeV2() const noexcept override;
  int64_t getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept override;
  const int64_t* getProfileTensorValuesV2(
      const char* tensorName, int32_t profileIndex,
      nvinfer1::OptProfileSelector selector) const noexcept override;
  nvinfer1::IExecutionContext* createExecutionContextWithRuntimeConfig(
      nvinfer1::IRuntimeConfig* runtimeConfig) noexcept override;
  nvinfer1::IRuntimeConfig* createRuntimeConfig() noexcept override;
  int64_t getEngineStat(nvinfer1::EngineStat stat) const noexcept override;
  const char* getAliasedInputTensor(const char*) const noexcept override { return nullptr; }

 private:
  /// The input or output of that name; throws, listing those there are, when there is none.
  int binding(const char* name) const;
  nvinfer1::TensorFormat format(int binding) const;
  const PlanProfile::Range& range(const char* name, int32_t profile) const;
  template <class Result, class Query>
  Result query(const char* name, Result fallback, Query&& query,
               const char* where = __builtin_FUNCTION()) const;

  Reporter reporter_;
  std::shared_ptr<CurrentEngine> current_;
  std::shared_ptr<const Engine> engine_;
  Self self_;
  std::vector<std::string> formats_;  // per binding
  /// Values of shape inputs as int32: per profile and input, kMIN, kOPT and kMAX.
  std::vector<std::vector<std::array<std::vector<int32_t>, 3>>> int32_values_;
};

/// Index of the binding with that name; throws, listing the names there are, when there is none.
int named_binding(const Engine& engine, const char* name);

/// The shape of an input or output as callers see it: without the batch, where that is implicit.
nvinfer1::Dims public_shape(const Plan& plan, Shape shape);

}  // namespace tenon
