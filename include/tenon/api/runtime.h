// The runtime, which opens plans, and the refitter, which changes their weights.
#ifndef TENON_API_RUNTIME_H
#define TENON_API_RUNTIME_H

#include "tenon/api/logging.h"
#include "tenon/api/stream.h"

namespace nvinfer1 {

enum class EngineCapability : int32_t {
  kSTANDARD = 0,
  kSAFETY = 1,
  kDLA_STANDALONE = 2,

  // 8.x names.
  kDEFAULT = kSTANDARD,
  kSAFE_GPU = kSAFETY,
  kSAFE_DLA = kDLA_STANDALONE,
};

template <>
struct impl::EnumMaxImpl<EngineCapability> {
  static constexpr int32_t kVALUE = 3;
};

enum class TempfileControlFlag : int32_t {
  kALLOW_IN_MEMORY_FILES = 0,
  kALLOW_TEMPORARY_FILES = 1,
};

template <>
struct impl::EnumMaxImpl<TempfileControlFlag> {
  static constexpr int32_t kVALUE = 2;
};

class IRuntime : public INoCopy {
 public:
  ~IRuntime() noexcept override = default;
  void setDLACore(int32_t dlaCore) noexcept { mImpl->setDLACore(dlaCore); }
  int32_t getDLACore() const noexcept { return mImpl->getDLACore(); }
  int32_t getNbDLACores() const noexcept { return mImpl->getNbDLACores(); }
  void setGpuAllocator(IGpuAllocator* allocator) noexcept { mImpl->setGpuAllocator(allocator); }
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }
  ICudaEngine* deserializeCudaEngine(const void* blob, size_t size) noexcept {
    return mImpl->deserializeCudaEngine(blob, size);
  }
  ICudaEngine* deserializeCudaEngine(IStreamReader& streamReader) {
    return mImpl->deserializeCudaEngine(streamReader);
  }
  ICudaEngine* deserializeCudaEngine(IStreamReaderV2& streamReader) {
    return mImpl->deserializeCudaEngineV2(streamReader);
  }
  ILogger* getLogger() const noexcept { return mImpl->getLogger(); }
  bool setMaxThreads(int32_t maxThreads) noexcept { return mImpl->setMaxThreads(maxThreads); }
  int32_t getMaxThreads() const noexcept { return mImpl->getMaxThreads(); }
  void setTemporaryDirectory(const char* path) noexcept { mImpl->setTemporaryDirectory(path); }
  const char* getTemporaryDirectory() const noexcept { return mImpl->getTemporaryDirectory(); }
  void setTempfileControlFlags(TempfileControlFlags flags) noexcept {
    mImpl->setTempfileControlFlags(flags);
  }
  TempfileControlFlags getTempfileControlFlags() const noexcept {
    return mImpl->getTempfileControlFlags();
  }
  IPluginRegistry& getPluginRegistry() noexcept { return mImpl->getPluginRegistry(); }
  IRuntime* loadRuntime(const char* path) noexcept { return mImpl->loadRuntime(path); }
  void setEngineHostCodeAllowed(bool allowed) noexcept { mImpl->setEngineHostCodeAllowed(allowed); }
  bool getEngineHostCodeAllowed() const noexcept { return mImpl->getEngineHostCodeAllowed(); }

#include "tenon/compat8/IRuntime.inl"
 protected:
  apiv::VRuntime* mImpl;
};

class IRefitter : public INoCopy {
 public:
  ~IRefitter() noexcept override = default;
  bool setWeights(const char* layerName, WeightsRole role, Weights weights) noexcept {
    return mImpl->setWeights(layerName, role, weights);
  }
  bool refitCudaEngine() noexcept { return mImpl->refitCudaEngine(); }
  int32_t getMissing(int32_t size, const char** layerNames, WeightsRole* roles) noexcept {
    return mImpl->getMissing(size, layerNames, roles);
  }
  int32_t getAll(int32_t size, const char** layerNames, WeightsRole* roles) noexcept {
    return mImpl->getAll(size, layerNames, roles);
  }
  bool setDynamicRange(const char* tensorName, float min, float max) noexcept {
    return mImpl->setDynamicRange(tensorName, min, max);
  }
  float getDynamicRangeMin(const char* tensorName) const noexcept {
    return mImpl->getDynamicRangeMin(tensorName);
  }
  float getDynamicRangeMax(const char* tensorName) const noexcept {
    return mImpl->getDynamicRangeMax(tensorName);
  }
  int32_t getTensorsWithDynamicRange(int32_t size, const char** tensorNames) const noexcept {
    return mImpl->getTensorsWithDynamicRange(size, tensorNames);
  }
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }
  bool setNamedWeights(const char* name, Weights weights) noexcept {
    return mImpl->setNamedWeights(name, weights);
  }
  int32_t getMissingWeights(int32_t size, const char** weightsNames) noexcept {
    return mImpl->getMissingWeights(size, weightsNames);
  }
  int32_t getAllWeights(int32_t size, const char** weightsNames) noexcept {
    return mImpl->getAllWeights(size, weightsNames);
  }
  ILogger* getLogger() const noexcept { return mImpl->getLogger(); }
  bool setMaxThreads(int32_t maxThreads) noexcept { return mImpl->setMaxThreads(maxThreads); }
  int32_t getMaxThreads() const noexcept { return mImpl->getMaxThreads(); }
  bool setNamedWeights(const char* name, Weights weights, TensorLocation location) noexcept {
    return mImpl->setNamedWeightsWithLocation(name, weights, location);
  }
  Weights getNamedWeights(const char* weightsName) const noexcept {
    return mImpl->getNamedWeights(weightsName);
  }
  TensorLocation getWeightsLocation(const char* weightsName) const noexcept {
    return mImpl->getWeightsLocation(weightsName);
  }
  bool unsetNamedWeights(const char* weightsName) noexcept {
    return mImpl->unsetNamedWeights(weightsName);
  }
  void setWeightsValidation(bool weightsValidation) noexcept {
    mImpl->setWeightsValidation(weightsValidation);
  }
  bool getWeightsValidation() const noexcept { return mImpl->getWeightsValidation(); }
  bool refitCudaEngineAsync(cudaStream_t stream) noexcept {
    return mImpl->refitCudaEngineAsync(stream);
  }
  Weights getWeightsPrototype(const char* weightsName) const noexcept {
    return mImpl->getWeightsPrototype(weightsName);
  }

#include "tenon/compat8/IRefitter.inl"
 protected:
  apiv::VRefitter* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_RUNTIME_H
