// An engine, a context and a builder that do nothing: tests override what they are about.
#ifndef TENON_TEST_ABI_FAKES_H
#define TENON_TEST_ABI_FAKES_H

#include "NvInfer.h"

namespace nvinfer1 {

class FakeEngine : public ICudaEngine, public apiv::VCudaEngine {
 public:
  FakeEngine() { mImpl = this; }

  ICudaEngine* getPImpl() noexcept override { return this; }
  int32_t getNbLayers() const noexcept override { return {}; }
  IHostMemory* serialize() const noexcept override { return {}; }
  IExecutionContext* createExecutionContext(ExecutionContextAllocationStrategy) noexcept override {
    return {};
  }
  IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept override { return {}; }
  size_t getDeviceMemorySize() const noexcept override { return {}; }
  bool isRefittable() const noexcept override { return {}; }
  const char* getName() const noexcept override { return {}; }
  int32_t getNbOptimizationProfiles() const noexcept override { return {}; }
  const int32_t* getProfileTensorValues(const char*, int32_t,
                                        OptProfileSelector) const noexcept override {
    return {};
  }
  EngineCapability getEngineCapability() const noexcept override { return {}; }
  void setErrorRecorder(IErrorRecorder*) noexcept override {}
  IErrorRecorder* getErrorRecorder() const noexcept override { return {}; }
  bool hasImplicitBatchDimension() const noexcept override { return {}; }
  TacticSources getTacticSources() const noexcept override { return {}; }
  ProfilingVerbosity getProfilingVerbosity() const noexcept override { return {}; }
  IEngineInspector* createEngineInspector() const noexcept override { return {}; }
  Dims getTensorShape(const char*) const noexcept override { return {}; }
  DataType getTensorDataType(const char*) const noexcept override { return {}; }
  TensorLocation getTensorLocation(const char*) const noexcept override { return {}; }
  bool isShapeInferenceIO(const char*) const noexcept override { return {}; }
  TensorIOMode getTensorIOMode(const char*) const noexcept override { return {}; }
  int32_t getTensorBytesPerComponent(const char*) const noexcept override { return {}; }
  int32_t getTensorComponentsPerElement(const char*) const noexcept override { return {}; }
  TensorFormat getTensorFormat(const char*) const noexcept override { return {}; }
  const char* getTensorFormatDesc(const char*) const noexcept override { return {}; }
  int32_t getTensorVectorizedDim(const char*) const noexcept override { return {}; }
  Dims getProfileShape(const char*, int32_t, OptProfileSelector) const noexcept override {
    return {};
  }
  int32_t getNbIOTensors() const noexcept override { return {}; }
  const char* getIOTensorName(int32_t) const noexcept override { return {}; }
  HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept override { return {}; }
  int32_t getNbAuxStreams() const noexcept override { return {}; }
  int32_t getTensorBytesPerComponentV2(const char*, int32_t) const noexcept override { return {}; }
  int32_t getTensorComponentsPerElementV2(const char*, int32_t) const noexcept override {
    return {};
  }
  TensorFormat getTensorFormatV2(const char*, int32_t) const noexcept override { return {}; }
  const char* getTensorFormatDescV2(const char*, int32_t) const noexcept override { return {}; }
  int32_t getTensorVectorizedDimV2(const char*, int32_t) const noexcept override { return {}; }
  ISerializationConfig* createSerializationConfig() noexcept override { return {}; }
  IHostMemory* serializeWithConfig(ISerializationConfig&) const noexcept override { return {}; }
  size_t getDeviceMemorySizeForProfile(int32_t) const noexcept override { return {}; }
  IRefitter* createRefitter(ILogger&) noexcept override { return {}; }
  bool setWeightStreamingBudget(int64_t) noexcept override { return {}; }
  int64_t getWeightStreamingBudget() const noexcept override { return {}; }
  int64_t getMinimumWeightStreamingBudget() const noexcept override { return {}; }
  int64_t getStreamableWeightsSize() const noexcept override { return {}; }
  bool isDebugTensor(const char*) const noexcept override { return {}; }
  bool setWeightStreamingBudgetV2(int64_t) noexcept override { return {}; }
  int64_t getWeightStreamingBudgetV2() const noexcept override { return {}; }
  int64_t getWeightStreamingAutomaticBudget() const noexcept override { return {}; }
  int64_t getWeightStreamingScratchMemorySize() const noexcept override { return {}; }
  int64_t getDeviceMemorySizeV2() const noexcept override { return {}; }
  int64_t getDeviceMemorySizeForProfileV2(int32_t) const noexcept override { return {}; }
  const int64_t* getProfileTensorValuesV2(const char*, int32_t,
                                          OptProfileSelector) const noexcept override {
    return {};
  }
  IExecutionContext* createExecutionContextWithRuntimeConfig(IRuntimeConfig*) noexcept override {
    return {};
  }
  IRuntimeConfig* createRuntimeConfig() noexcept override { return {}; }
  int64_t getEngineStat(EngineStat) const noexcept override { return {}; }
  const char* getAliasedInputTensor(const char*) const noexcept override { return {}; }
};

class FakeBuilder : public IBuilder, public apiv::VBuilder {
 public:
  FakeBuilder() { mImpl = this; }

  bool platformHasFastFp16() const noexcept override { return {}; }
  bool platformHasFastInt8() const noexcept override { return {}; }
  int32_t getMaxDLABatchSize() const noexcept override { return {}; }
  int32_t getNbDLACores() const noexcept override { return {}; }
  void setGpuAllocator(IGpuAllocator*) noexcept override {}
  IBuilderConfig* createBuilderConfig() noexcept override { return {}; }
  INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags) noexcept override {
    return {};
  }
  IOptimizationProfile* createOptimizationProfile() noexcept override { return {}; }
  void setErrorRecorder(IErrorRecorder*) noexcept override {}
  IErrorRecorder* getErrorRecorder() const noexcept override { return {}; }
  void reset() noexcept override {}
  bool platformHasTf32() const noexcept override { return {}; }
  IHostMemory* buildSerializedNetwork(INetworkDefinition&, IBuilderConfig&) noexcept override {
    return {};
  }
  bool isNetworkSupported(const INetworkDefinition&,
                          const IBuilderConfig&) const noexcept override {
    return {};
  }
  ILogger* getLogger() const noexcept override { return {}; }
  bool setMaxThreads(int32_t) noexcept override { return {}; }
  int32_t getMaxThreads() const noexcept override { return {}; }
  ICudaEngine* buildEngineWithConfig(INetworkDefinition&, IBuilderConfig&) noexcept override {
    return {};
  }
  bool buildSerializedNetworkToStream(INetworkDefinition&, IBuilderConfig&,
                                      IStreamWriter&) noexcept override {
    return {};
  }
  IHostMemory* buildSerializedNetworkWithKernelText(INetworkDefinition&, IBuilderConfig&,
                                                    IHostMemory*&) noexcept override {
    return {};
  }
};

class FakeContext : public IExecutionContext, public apiv::VExecutionContext {
 public:
  FakeContext() { mImpl = this; }

  IExecutionContext* getPImpl() noexcept override { return this; }
  void setDebugSync(bool) noexcept override {}
  bool getDebugSync() const noexcept override { return {}; }
  void setProfiler(IProfiler*) noexcept override {}
  IProfiler* getProfiler() const noexcept override { return {}; }
  void setName(const char*) noexcept override {}
  const char* getName() const noexcept override { return {}; }
  void setDeviceMemory(void*) noexcept override {}
  int32_t getOptimizationProfile() const noexcept override { return {}; }
  bool allInputDimensionsSpecified() const noexcept override { return {}; }
  bool allInputShapesSpecified() const noexcept override { return {}; }
  void setErrorRecorder(IErrorRecorder*) noexcept override {}
  IErrorRecorder* getErrorRecorder() const noexcept override { return {}; }
  bool executeV2(void* const*) noexcept override { return {}; }
  bool setOptimizationProfileAsync(int32_t, cudaStream_t) noexcept override { return {}; }
  void setEnqueueEmitsProfile(bool) noexcept override {}
  bool getEnqueueEmitsProfile() const noexcept override { return {}; }
  bool reportToProfiler() const noexcept override { return {}; }
  bool setInputShape(const char*, const Dims&) noexcept override { return {}; }
  Dims getTensorShape(const char*) const noexcept override { return {}; }
  Dims getTensorStrides(const char*) const noexcept override { return {}; }
  bool setTensorAddress(const char*, void*) noexcept override { return {}; }
  const void* getTensorAddress(const char*) const noexcept override { return {}; }
  bool setInputTensorAddress(const char*, const void*) noexcept override { return {}; }
  bool setOutputTensorAddress(const char*, void*) noexcept override { return {}; }
  int32_t inferShapes(int32_t, const char**) noexcept override { return {}; }
  bool setInputConsumedEvent(cudaEvent_t) noexcept override { return {}; }
  cudaEvent_t getInputConsumedEvent() const noexcept override { return {}; }
  void* getOutputTensorAddress(const char*) const noexcept override { return {}; }
  bool setOutputAllocator(const char*, IOutputAllocator*) noexcept override { return {}; }
  IOutputAllocator* getOutputAllocator(const char*) noexcept override { return {}; }
  int64_t getMaxOutputSize(const char*) const noexcept override { return {}; }
  bool setTemporaryStorageAllocator(IGpuAllocator*) noexcept override { return {}; }
  IGpuAllocator* getTemporaryStorageAllocator() const noexcept override { return {}; }
  bool enqueueV3(cudaStream_t) noexcept override { return {}; }
  void setPersistentCacheLimit(size_t) noexcept override {}
  size_t getPersistentCacheLimit() const noexcept override { return {}; }
  bool setNvtxVerbosity(ProfilingVerbosity) noexcept override { return {}; }
  ProfilingVerbosity getNvtxVerbosity() const noexcept override { return {}; }
  void setAuxStreams(cudaStream_t*, int32_t) noexcept override {}
  bool setDebugListener(IDebugListener*) noexcept override { return {}; }
  IDebugListener* getDebugListener() noexcept override { return {}; }
  bool setTensorDebugState(const char*, bool) noexcept override { return {}; }
  bool getDebugState(const char*) const noexcept override { return {}; }
  bool setAllTensorsDebugState(bool) noexcept override { return {}; }
  size_t updateDeviceMemorySizeForShapes() noexcept override { return {}; }
  void setDeviceMemoryV2(void*, int64_t) noexcept override {}
  IRuntimeConfig* getRuntimeConfig() const noexcept override { return {}; }
  bool setUnfusedTensorsDebugState(bool) noexcept override { return {}; }
  bool getUnfusedTensorsDebugState() const noexcept override { return {}; }
  bool setCommunicator(void*) noexcept override { return {}; }
};

}  // namespace nvinfer1

#endif  // TENON_TEST_ABI_FAKES_H
