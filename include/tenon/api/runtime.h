// The runtime, which opens plans, and the refitter, which changes their weights.
#ifndef TENON_API_RUNTIME_H
#define TENON_API_RUNTIME_H

#include "tenon/api/logging.h"
#include "tenon/api/stream.h"

namespace nvinfer1 {

/// Which restrictions an engine keeps to.
enum class EngineCapability : int32_t {
  kSTANDARD = 0,        ///< None.
  kSAFETY = 1,          ///< Those of the safety runtime, which is not supported.
  kDLA_STANDALONE = 2,  ///< Those of DLA loadables, which are not supported.

  // 8.x names.
  kDEFAULT = kSTANDARD,
  kSAFE_GPU = kSAFETY,
  kSAFE_DLA = kDLA_STANDALONE,
};

template <> struct impl::EnumMaxImpl<EngineCapability> {
  static constexpr int32_t kVALUE = 3;
};

/// How the runtime may hold code that it must load from a file.
enum class TempfileControlFlag : int32_t {
  kALLOW_IN_MEMORY_FILES = 0,  ///< In files that exist in memory only.
  kALLOW_TEMPORARY_FILES = 1,  ///< In files of the temporary directory.
};

template <> struct impl::EnumMaxImpl<TempfileControlFlag> {
  static constexpr int32_t kVALUE = 2;
};

/// Opens plans. The caller deletes it, after the engines it made.
class IRuntime : public INoCopy {
 public:
  ~IRuntime() noexcept override = default;

  /// Chooses a DLA core; there is none.
  void setDLACore(int32_t dlaCore) noexcept { mImpl->setDLACore(dlaCore); }

  /// The DLA core chosen; -1 if none.
  int32_t getDLACore() const noexcept { return mImpl->getDLACore(); }

  /// The number of DLA cores, which is 0.
  int32_t getNbDLACores() const noexcept { return mImpl->getNbDLACores(); }

  /// Sets the allocator of engines opened from now on, not owned; null for the library's own.
  void setGpuAllocator(IGpuAllocator* allocator) noexcept { mImpl->setGpuAllocator(allocator); }

  /// Sets where errors are recorded, instead of the one set before; null for none.
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }

  /// The recorder that was set; null if none.
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }

  /// Opens a plan of `size` bytes, which may be freed afterwards. The caller deletes the engine;

  /// null if the plan is damaged, of another version or needs a plugin that is not there.
  ICudaEngine* deserializeCudaEngine(const void* blob, size_t size) noexcept {
    return mImpl->deserializeCudaEngine(blob, size);
  }

  /// Opens a plan that is read front to back; null on failure.
  TENON_REMOVED_IN_11 ICudaEngine* deserializeCudaEngine(IStreamReader& streamReader) {
    return mImpl->deserializeCudaEngine(streamReader);
  }

  /// Opens a plan that is read in any order; null on failure.
  ICudaEngine* deserializeCudaEngine(IStreamReaderV2& streamReader) {
    return mImpl->deserializeCudaEngineV2(streamReader);
  }

  /// The logger that the runtime was created with.
  ILogger* getLogger() const noexcept { return mImpl->getLogger(); }

  /// Limits the threads that the library uses, the calling one included; false if it is less than
  /// 1.
  bool setMaxThreads(int32_t maxThreads) noexcept { return mImpl->setMaxThreads(maxThreads); }

  /// The limit of threads.
  int32_t getMaxThreads() const noexcept { return mImpl->getMaxThreads(); }

  /// Sets where temporary files go; null for the system's choice.
  void setTemporaryDirectory(const char* path) noexcept { mImpl->setTemporaryDirectory(path); }

  /// Where temporary files go.
  const char* getTemporaryDirectory() const noexcept { return mImpl->getTemporaryDirectory(); }

  /// Sets the bits of TempfileControlFlag.
  void setTempfileControlFlags(TempfileControlFlags flags) noexcept {
    mImpl->setTempfileControlFlags(flags);
  }

  /// The bits of TempfileControlFlag.
  TempfileControlFlags getTempfileControlFlags() const noexcept {
    return mImpl->getTempfileControlFlags();
  }

  /// The registry that the engines' plugins are looked up in first.
  IPluginRegistry& getPluginRegistry() noexcept { return mImpl->getPluginRegistry(); }

  /// Loads another runtime library for plans of its version; null on failure. The caller deletes it
  /// before this one.
  IRuntime* loadRuntime(const char* path) noexcept { return mImpl->loadRuntime(path); }

  /// Sets whether plans may contain code that runs on the host.
  void setEngineHostCodeAllowed(bool allowed) noexcept { mImpl->setEngineHostCodeAllowed(allowed); }

  /// Whether plans may contain code that runs on the host; false at first.
  bool getEngineHostCodeAllowed() const noexcept { return mImpl->getEngineHostCodeAllowed(); }

#if TENON_TRT_OLDER_NAMES
#include "tenon/compat8/IRuntime.inl"
#endif
 protected:
  apiv::VRuntime* mImpl;
};

/// Changes weights of an engine that was built with kREFIT. The caller deletes it before the
/// engine.
class IRefitter : public INoCopy {
 public:
  ~IRefitter() noexcept override = default;

  /// Sets the weights of a layer, not copied until refitting; false if the layer, role or count is
  /// not right.
  bool setWeights(const char* layerName, WeightsRole role, Weights weights) noexcept {
    return mImpl->setWeights(layerName, role, weights);
  }

  /// Puts the new weights into the engine; false if some are missing. No context may be running.
  bool refitCudaEngine() noexcept { return mImpl->refitCudaEngine(); }

  /// How many weights are still needed, with the layers and roles of the first `size` of them;

  /// either array may be null.
  int32_t getMissing(int32_t size, const char** layerNames, WeightsRole* roles) noexcept {
    return mImpl->getMissing(size, layerNames, roles);
  }

  /// How many weights can be changed, with the layers and roles of the first `size` of them; either
  /// array may be null.
  int32_t getAll(int32_t size, const char** layerNames, WeightsRole* roles) noexcept {
    return mImpl->getAll(size, layerNames, roles);
  }

  /// Sets the range of values of an INT8 tensor; false if there is no such tensor.
  TENON_REMOVED_IN_11 bool setDynamicRange(const char* tensorName, float min, float max) noexcept {
    return mImpl->setDynamicRange(tensorName, min, max);
  }

  /// The lower end of the range of a tensor.
  TENON_REMOVED_IN_11 float getDynamicRangeMin(const char* tensorName) const noexcept {
    return mImpl->getDynamicRangeMin(tensorName);
  }

  /// The upper end of the range of a tensor.
  TENON_REMOVED_IN_11 float getDynamicRangeMax(const char* tensorName) const noexcept {
    return mImpl->getDynamicRangeMax(tensorName);
  }

  /// How many tensors have a range, with the names of the first `size` of them.
  TENON_REMOVED_IN_11 int32_t getTensorsWithDynamicRange(int32_t size,
                                                         const char** tensorNames) const noexcept {
    return mImpl->getTensorsWithDynamicRange(size, tensorNames);
  }

  /// Sets where errors are recorded, instead of the one set before; null for none.
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }

  /// The recorder that was set; null if none.
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }

  /// Sets weights by name, in host memory and not copied until refitting; false if the name or
  /// count is not right.
  bool setNamedWeights(const char* name, Weights weights) noexcept {
    return mImpl->setNamedWeights(name, weights);
  }

  /// How many named weights are still needed, with the names of the first `size` of them.
  int32_t getMissingWeights(int32_t size, const char** weightsNames) noexcept {
    return mImpl->getMissingWeights(size, weightsNames);
  }

  /// How many named weights can be changed, with the names of the first `size` of them.
  int32_t getAllWeights(int32_t size, const char** weightsNames) noexcept {
    return mImpl->getAllWeights(size, weightsNames);
  }

  /// The logger that the refitter was created with.
  ILogger* getLogger() const noexcept { return mImpl->getLogger(); }

  /// Limits the threads that the library uses; false if it is less than 1.
  bool setMaxThreads(int32_t maxThreads) noexcept { return mImpl->setMaxThreads(maxThreads); }

  /// The limit of threads.
  int32_t getMaxThreads() const noexcept { return mImpl->getMaxThreads(); }

  /// Sets weights by name, in host or device memory; false if the name or count is not right.
  bool setNamedWeights(const char* name, Weights weights, TensorLocation location) noexcept {
    return mImpl->setNamedWeightsWithLocation(name, weights, location);
  }

  /// The weights set under a name; null values if none were.
  Weights getNamedWeights(const char* weightsName) const noexcept {
    return mImpl->getNamedWeights(weightsName);
  }

  /// Where the weights set under a name lie.
  TensorLocation getWeightsLocation(const char* weightsName) const noexcept {
    return mImpl->getWeightsLocation(weightsName);
  }

  /// Forgets the weights set under a name; false if none were.
  bool unsetNamedWeights(const char* weightsName) noexcept {
    return mImpl->unsetNamedWeights(weightsName);
  }

  /// Sets whether new weights are checked, which is the default.
  void setWeightsValidation(bool weightsValidation) noexcept {
    mImpl->setWeightsValidation(weightsValidation);
  }

  /// Whether new weights are checked.
  bool getWeightsValidation() const noexcept { return mImpl->getWeightsValidation(); }

  /// Like refitCudaEngine(), in the order of `stream`; the weights must stay until it is done.
  bool refitCudaEngineAsync(cudaStream_t stream) noexcept {
    return mImpl->refitCudaEngineAsync(stream);
  }

  /// The type and count that weights of this name must have; values are null, count is -1 if there
  /// are none.
  Weights getWeightsPrototype(const char* weightsName) const noexcept {
    return mImpl->getWeightsPrototype(weightsName);
  }

#if TENON_TRT_OLDER_NAMES
#include "tenon/compat8/IRefitter.inl"
#endif
 protected:
  apiv::VRefitter* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_RUNTIME_H
