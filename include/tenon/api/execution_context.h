// Execution contexts: one engine, one set of shapes and buffers, one thread at a time.
#ifndef TENON_API_EXECUTION_CONTEXT_H
#define TENON_API_EXECUTION_CONTEXT_H

#include "tenon/api/engine.h"

namespace nvinfer1 {

class IExecutionContext : public INoCopy {
 public:
  ~IExecutionContext() noexcept override = default;
  void setDebugSync(bool sync) noexcept { mImpl->setDebugSync(sync); }
  bool getDebugSync() const noexcept { return mImpl->getDebugSync(); }
  void setProfiler(IProfiler* profiler) noexcept { mImpl->setProfiler(profiler); }
  IProfiler* getProfiler() const noexcept { return mImpl->getProfiler(); }
  const ICudaEngine& getEngine() const noexcept { return mImpl->getEngine(); }
  void setName(const char* name) noexcept { mImpl->setName(name); }
  const char* getName() const noexcept { return mImpl->getName(); }
  void setDeviceMemory(void* memory) noexcept { mImpl->setDeviceMemory(memory); }
  void setDeviceMemoryV2(void* memory, int64_t size) noexcept {
    mImpl->setDeviceMemoryV2(memory, size);
  }
  Dims getTensorStrides(const char* tensorName) const noexcept {
    return mImpl->getTensorStrides(tensorName);
  }
  int32_t getOptimizationProfile() const noexcept { return mImpl->getOptimizationProfile(); }
  bool setInputShape(const char* tensorName, const Dims& dimensions) noexcept {
    return mImpl->setInputShape(tensorName, dimensions);
  }
  Dims getTensorShape(const char* tensorName) const noexcept {
    return mImpl->getTensorShape(tensorName);
  }
  bool allInputDimensionsSpecified() const noexcept { return mImpl->allInputDimensionsSpecified(); }
  bool allInputShapesSpecified() const noexcept { return mImpl->allInputShapesSpecified(); }
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }
  bool executeV2(void* const* bindings) noexcept { return mImpl->executeV2(bindings); }
  bool setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t stream) noexcept {
    return mImpl->setOptimizationProfileAsync(profileIndex, stream);
  }
  void setEnqueueEmitsProfile(bool enqueueEmitsProfile) noexcept {
    mImpl->setEnqueueEmitsProfile(enqueueEmitsProfile);
  }
  bool getEnqueueEmitsProfile() const noexcept { return mImpl->getEnqueueEmitsProfile(); }
  bool reportToProfiler() const noexcept { return mImpl->reportToProfiler(); }
  bool setTensorAddress(const char* tensorName, void* data) noexcept {
    return mImpl->setTensorAddress(tensorName, data);
  }
  const void* getTensorAddress(const char* tensorName) const noexcept {
    return mImpl->getTensorAddress(tensorName);
  }
  bool setOutputTensorAddress(const char* tensorName, void* data) noexcept {
    return mImpl->setOutputTensorAddress(tensorName, data);
  }
  bool setInputTensorAddress(const char* tensorName, const void* data) noexcept {
    return mImpl->setInputTensorAddress(tensorName, data);
  }
  void* getOutputTensorAddress(const char* tensorName) const noexcept {
    return mImpl->getOutputTensorAddress(tensorName);
  }
  int32_t inferShapes(int32_t capacity, const char** tensorNames) noexcept {
    return mImpl->inferShapes(capacity, tensorNames);
  }
  size_t updateDeviceMemorySizeForShapes() noexcept {
    return mImpl->updateDeviceMemorySizeForShapes();
  }
  bool setInputConsumedEvent(cudaEvent_t event) noexcept {
    return mImpl->setInputConsumedEvent(event);
  }
  cudaEvent_t getInputConsumedEvent() const noexcept { return mImpl->getInputConsumedEvent(); }
  bool setOutputAllocator(const char* tensorName, IOutputAllocator* outputAllocator) noexcept {
    return mImpl->setOutputAllocator(tensorName, outputAllocator);
  }
  IOutputAllocator* getOutputAllocator(const char* tensorName) const noexcept {
    return mImpl->getOutputAllocator(tensorName);
  }
  int64_t getMaxOutputSize(const char* tensorName) const noexcept {
    return mImpl->getMaxOutputSize(tensorName);
  }
  bool setTemporaryStorageAllocator(IGpuAllocator* allocator) noexcept {
    return mImpl->setTemporaryStorageAllocator(allocator);
  }
  IGpuAllocator* getTemporaryStorageAllocator() const noexcept {
    return mImpl->getTemporaryStorageAllocator();
  }
  bool enqueueV3(cudaStream_t stream) noexcept { return mImpl->enqueueV3(stream); }
  void setPersistentCacheLimit(size_t size) noexcept { mImpl->setPersistentCacheLimit(size); }
  size_t getPersistentCacheLimit() const noexcept { return mImpl->getPersistentCacheLimit(); }
  bool setNvtxVerbosity(ProfilingVerbosity verbosity) noexcept {
    return mImpl->setNvtxVerbosity(verbosity);
  }
  ProfilingVerbosity getNvtxVerbosity() const noexcept { return mImpl->getNvtxVerbosity(); }
  void setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept {
    mImpl->setAuxStreams(auxStreams, nbStreams);
  }
  bool setDebugListener(IDebugListener* listener) noexcept {
    return mImpl->setDebugListener(listener);
  }
  IDebugListener* getDebugListener() noexcept { return mImpl->getDebugListener(); }
  bool setTensorDebugState(const char* name, bool flag) noexcept {
    return mImpl->setTensorDebugState(name, flag);
  }
  bool getDebugState(const char* name) const noexcept { return mImpl->getDebugState(name); }
  IRuntimeConfig* getRuntimeConfig() const noexcept { return mImpl->getRuntimeConfig(); }
  bool setAllTensorsDebugState(bool flag) noexcept { return mImpl->setAllTensorsDebugState(flag); }
  bool setUnfusedTensorsDebugState(bool flag) noexcept {
    return mImpl->setUnfusedTensorsDebugState(flag);
  }
  bool getUnfusedTensorsDebugState() const noexcept { return mImpl->getUnfusedTensorsDebugState(); }
  bool setCommunicator(void* communicator) noexcept { return mImpl->setCommunicator(communicator); }

#include "tenon/compat8/IExecutionContext.inl"
 protected:
  apiv::VExecutionContext* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_EXECUTION_CONTEXT_H
