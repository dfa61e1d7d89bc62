// IExecutionContext: a view of a Context.
#pragma once

#include <NvInfer.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/engine.h"
#include "api/engine_config.h"
#include "api/guard.h"
#include "api/live.h"
#include "run/context.h"

namespace tenon {

class ContextView final : public nvinfer1::IExecutionContext,
                          public nvinfer1::apiv::VExecutionContext,
                          public Live<ContextView, nvinfer1::IExecutionContext> {
 public:
  ContextView(const EngineView& engine, bool own_memory);
  ~ContextView() noexcept override;

  const std::shared_ptr<const Engine>& shared() const { return engine_; }
  /// Concrete shapes of all tensors of the plan; empty while inputs are missing.
  std::vector<Shape> tensor_shapes() const;
  /// The same of the last run, with what only running told; empty before the first.
  std::vector<Shape> shapes_of_last_run() const { return context_->shapes_of_last_run(); }
  const Reporter& reporter() const { return reporter_; }
  /// A copy of `values` becomes the elements of a shape input; what tenonSetShapeValues() does.
  bool set_shape_values(const char* name, const int32_t* values) noexcept;
  /// How many items the next run holds, where the batch is implicit; what tenonSetBatchSize() does.
  bool set_batch_size(int32_t batch) noexcept;

  nvinfer1::IExecutionContext* getPImpl() noexcept override { return this; }
  void setDebugSync(bool sync) noexcept override { debug_sync_ = sync; }
  bool getDebugSync() const noexcept override { return debug_sync_; }
  void setProfiler(nvinfer1::IProfiler* profiler) noexcept override;
  nvinfer1::IProfiler* getProfiler() const noexcept override { return context_->profiler(); }
  const nvinfer1::ICudaEngine& getEngine() const noexcept override;
  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override { return name_.c_str(); }
  void setDeviceMemory(void* memory) noexcept override;
  int32_t getOptimizationProfile() const noexcept override { return context_->profile(); }
  bool allInputDimensionsSpecified() const noexcept override;
  bool allInputShapesSpecified() const noexcept override;
  void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override {
    reporter_.set_recorder(recorder);
  }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override {
    return reporter_.recorder();
  }
  bool executeV2(void* const* bindings) noexcept override;
  bool setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t stream) noexcept override;
  void setEnqueueEmitsProfile(bool emits) noexcept override { context_->emits_profile = emits; }
  bool getEnqueueEmitsProfile() const noexcept override { return context_->emits_profile; }
  bool reportToProfiler() const noexcept override;
  bool setInputShape(const char* tensorName, const nvinfer1::Dims& dimensions) noexcept override;
  nvinfer1::Dims getTensorShape(const char* tensorName) const noexcept override;
  nvinfer1::Dims getTensorStrides(const char* tensorName) const noexcept override;
  bool setTensorAddress(const char* tensorName, void* data) noexcept override;
  const void* getTensorAddress(const char* tensorName) const noexcept override;
  bool setInputTensorAddress(const char* tensorName, const void* data) noexcept override;
  bool setOutputTensorAddress(const char* tensorName, void* data) noexcept override;
  int32_t inferShapes(int32_t capacity, const char** tensorNames) noexcept override;
  bool setInputConsumedEvent(cudaEvent_t event) noexcept override {
    input_consumed_ = event;
    return true;
  }
  cudaEvent_t getInputConsumedEvent() const noexcept override { return input_consumed_; }
  void* getOutputTensorAddress(const char* tensorName) const noexcept override;
  bool setOutputAllocator(const char* tensorName,
                          nvinfer1::IOutputAllocator* outputAllocator) noexcept override;
  nvinfer1::IOutputAllocator* getOutputAllocator(const char* tensorName) noexcept override;
  int64_t getMaxOutputSize(const char* tensorName) const noexcept override;
  bool setTemporaryStorageAllocator(nvinfer1::IGpuAllocator* allocator) noexcept override {
    context_->set_temporary_allocator(allocator);
    return true;
  }
  nvinfer1::IGpuAllocator* getTemporaryStorageAllocator() const noexcept override {
    return context_->temporary_allocator();
  }
  bool enqueueV3(cudaStream_t stream) noexcept override;
  void setPersistentCacheLimit(size_t size) noexcept override { persistent_cache_ = size; }
  size_t getPersistentCacheLimit() const noexcept override { return persistent_cache_; }
  bool setNvtxVerbosity(nvinfer1::ProfilingVerbosity verbosity) noexcept override;
  nvinfer1::ProfilingVerbosity getNvtxVerbosity() const noexcept override { return nvtx_; }
  void setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept override;
  bool setDebugListener(nvinfer1::IDebugListener* listener) noexcept override;
  nvinfer1::IDebugListener* getDebugListener() noexcept override {
    return context_->debug_listener();
  }
  bool setTensorDebugState(const char* name, bool flag) noexcept override;
  bool getDebugState(const char* name) const noexcept override;
  bool setAllTensorsDebugState(bool flag) noexcept override;
  size_t updateDeviceMemorySizeForShapes() noexcept override;
  void setDeviceMemoryV2(void* memory, int64_t size) noexcept override;
  nvinfer1::IRuntimeConfig* getRuntimeConfig() const noexcept override { return &config_; }
  bool setUnfusedTensorsDebugState(bool flag) noexcept override;
  bool getUnfusedTensorsDebugState() const noexcept override { return unfused_debug_state_; }
  bool setCommunicator(void* communicator) noexcept override;

 private:
  int binding(const char* name) const { return named_binding(*engine_, name); }
  int input(const char* name) const;
  int output(const char* name) const;
  /// After a refit of the engine the next run is one of the new weights.
  void follow_refit();
  /// Calls `visit(index)` for the tensors of Plan::debug_tensors that were marked and have that
  /// name; throws when there is none.
  template <class Visit> void for_debug_tensors(const char* name, const Visit& visit) const;
  /// Throws when the batch is implicit and was not given for this run.
  void take_batch();

  Reporter reporter_;
  std::shared_ptr<CurrentEngine> current_;
  std::shared_ptr<const Engine> engine_;  // that context_ is of
  EngineView::Self engine_view_;
  /// Answers getEngine() once the application has deleted its engine.
  mutable std::unique_ptr<EngineView> spare_view_;
  std::unique_ptr<Context> context_;  // never null
  mutable RuntimeConfig config_;
  std::map<int, Tensor> shape_values_;  // by binding
  std::string name_;
  bool debug_sync_ = false;
  bool unfused_debug_state_ = false;
  bool batch_is_set_ = false;
  cudaEvent_t input_consumed_ = nullptr;
  size_t persistent_cache_ = 0;
  nvinfer1::ProfilingVerbosity nvtx_ = nvinfer1::ProfilingVerbosity::kLAYER_NAMES_ONLY;
};

}  // namespace tenon
