// The virtual tables behind the builder, its configuration and the timing cache.
#ifndef TENON_API_IMPL_BUILDER_H
#define TENON_API_IMPL_BUILDER_H

#include "tenon/api/impl_runtime.h"

namespace nvinfer1 {
namespace apiv {

#if TENON_TRT_OLDER_NAMES

class VAlgorithmIOInfo : public VRoot {
 public:
  virtual DataType getDataType() const noexcept = 0;
  virtual Dims getStrides() const noexcept = 0;
  virtual int64_t getVectorizedDim() const noexcept = 0;
  virtual int64_t getComponentsPerElement() const noexcept = 0;
};

class VAlgorithmVariant : public VRoot {
 public:
  virtual int64_t getImplementation() const noexcept = 0;
  virtual int64_t getTactic() const noexcept = 0;
};

class VAlgorithmContext : public VRoot {
 public:
  virtual const char* getName() const noexcept = 0;
  virtual Dims getDimensions(int32_t index, OptProfileSelector selector) const noexcept = 0;
  virtual int32_t getNbInputs() const noexcept = 0;
  virtual int32_t getNbOutputs() const noexcept = 0;
};

class VAlgorithm : public VRoot {
 public:
  virtual const IAlgorithmVariant& getAlgorithmVariant() const noexcept = 0;
  virtual float getTimingMSec() const noexcept = 0;
  virtual size_t getWorkspaceSize() const noexcept = 0;
  virtual const IAlgorithmIOInfo* getAlgorithmIOInfoByIndex(int32_t index) const noexcept = 0;
};

#endif  // TENON_TRT_OLDER_NAMES

class VTimingCache : public VRoot {
 public:
  virtual IHostMemory* serialize() const noexcept = 0;
  virtual bool combine(const ITimingCache& inputCache, bool ignoreMismatch) noexcept = 0;
  virtual bool reset() noexcept = 0;
  virtual int64_t queryKeys(TimingCacheKey* keyBuffer, int64_t capacity) const noexcept = 0;
  virtual TimingCacheValue query(const TimingCacheKey& key) const noexcept = 0;
  virtual bool update(const TimingCacheKey& key, const TimingCacheValue& value) noexcept = 0;
};

class VBuilderConfig : public VRoot {
 public:
  virtual void setAvgTimingIterations(int32_t iterations) noexcept = 0;
  virtual int32_t getAvgTimingIterations() const noexcept = 0;
  virtual void setEngineCapability(EngineCapability capability) noexcept = 0;
  virtual EngineCapability getEngineCapability() const noexcept = 0;
  virtual void setInt8Calibrator(IInt8Calibrator* calibrator) noexcept = 0;
  virtual IInt8Calibrator* getInt8Calibrator() const noexcept = 0;
  virtual void setFlags(BuilderFlags flags) noexcept = 0;
  virtual BuilderFlags getFlags() const noexcept = 0;
  virtual void clearFlag(BuilderFlag flag) noexcept = 0;
  virtual void setFlag(BuilderFlag flag) noexcept = 0;
  virtual bool getFlag(BuilderFlag flag) const noexcept = 0;
  virtual void setDeviceType(const ILayer* layer, DeviceType deviceType) noexcept = 0;
  virtual DeviceType getDeviceType(const ILayer* layer) const noexcept = 0;
  virtual bool isDeviceTypeSet(const ILayer* layer) const noexcept = 0;
  virtual void resetDeviceType(const ILayer* layer) noexcept = 0;
  virtual bool canRunOnDLA(const ILayer* layer) const noexcept = 0;
  virtual void setDLACore(int32_t dlaCore) noexcept = 0;
  virtual int32_t getDLACore() const noexcept = 0;
  virtual void setDefaultDeviceType(DeviceType deviceType) noexcept = 0;
  virtual DeviceType getDefaultDeviceType() const noexcept = 0;
  virtual void reset() noexcept = 0;
  virtual void setProfileStream(cudaStream_t stream) noexcept = 0;
  virtual cudaStream_t getProfileStream() const noexcept = 0;
  virtual int32_t addOptimizationProfile(const IOptimizationProfile* profile) noexcept = 0;
  virtual int32_t getNbOptimizationProfiles() const noexcept = 0;
  virtual void setProfilingVerbosity(ProfilingVerbosity verbosity) noexcept = 0;
  virtual ProfilingVerbosity getProfilingVerbosity() const noexcept = 0;
  virtual void setAlgorithmSelector(v_1_0::IAlgorithmSelector* selector) noexcept = 0;
  virtual v_1_0::IAlgorithmSelector* getAlgorithmSelector() const noexcept = 0;
  virtual bool setCalibrationProfile(const IOptimizationProfile* profile) noexcept = 0;
  virtual const IOptimizationProfile* getCalibrationProfile() noexcept = 0;
  virtual void setQuantizationFlags(QuantizationFlags flags) noexcept = 0;
  virtual QuantizationFlags getQuantizationFlags() const noexcept = 0;
  virtual void clearQuantizationFlag(QuantizationFlag flag) noexcept = 0;
  virtual void setQuantizationFlag(QuantizationFlag flag) noexcept = 0;
  virtual bool getQuantizationFlag(QuantizationFlag flag) const noexcept = 0;
  virtual bool setTacticSources(TacticSources tacticSources) noexcept = 0;
  virtual TacticSources getTacticSources() const noexcept = 0;
  virtual ITimingCache* createTimingCache(const void* blob, size_t size) const noexcept = 0;
  virtual bool setTimingCache(const ITimingCache& cache, bool ignoreMismatch) noexcept = 0;
  virtual const ITimingCache* getTimingCache() const noexcept = 0;
  virtual void setMemoryPoolLimit(MemoryPoolType pool, size_t poolSize) noexcept = 0;
  virtual size_t getMemoryPoolLimit(MemoryPoolType pool) const noexcept = 0;
  virtual void setPreviewFeature(PreviewFeature feature, bool enable) noexcept = 0;
  virtual bool getPreviewFeature(PreviewFeature feature) const noexcept = 0;
  virtual void setBuilderOptimizationLevel(int32_t level) noexcept = 0;
  virtual int32_t getBuilderOptimizationLevel() const noexcept = 0;
  virtual void setHardwareCompatibilityLevel(HardwareCompatibilityLevel level) noexcept = 0;
  virtual HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept = 0;
  virtual void setPluginsToSerialize(const char* const* paths, int32_t nbPaths) noexcept = 0;
  virtual const char* getPluginToSerialize(int32_t index) const noexcept = 0;
  virtual int32_t getNbPluginsToSerialize() const noexcept = 0;
  virtual void setMaxAuxStreams(int32_t nbStreams) noexcept = 0;
  virtual int32_t getMaxAuxStreams() const noexcept = 0;
  virtual void setProgressMonitor(IProgressMonitor* monitor) noexcept = 0;
  virtual IProgressMonitor* getProgressMonitor() const noexcept = 0;
  virtual void setRuntimePlatform(RuntimePlatform runtimePlatform) noexcept = 0;
  virtual RuntimePlatform getRuntimePlatform() const noexcept = 0;
  virtual void setMaxNbTactics(int32_t maxTactics) noexcept = 0;
  virtual int32_t getMaxNbTactics() const noexcept = 0;
  virtual bool setTilingOptimizationLevel(TilingOptimizationLevel level) noexcept = 0;
  virtual TilingOptimizationLevel getTilingOptimizationLevel() const noexcept = 0;
  virtual bool setL2LimitForTiling(int64_t size) noexcept = 0;
  virtual int64_t getL2LimitForTiling() const noexcept = 0;
  virtual bool setRemoteAutoTuningConfig(const char* config) noexcept = 0;
  virtual const char* getRemoteAutoTuningConfig() const noexcept = 0;
};

class VBuilder : public VRoot {
 public:
  virtual bool platformHasFastFp16() const noexcept = 0;
  virtual bool platformHasFastInt8() const noexcept = 0;
  virtual int32_t getMaxDLABatchSize() const noexcept = 0;
  virtual int32_t getNbDLACores() const noexcept = 0;
  virtual void setGpuAllocator(IGpuAllocator* allocator) noexcept = 0;
  virtual IBuilderConfig* createBuilderConfig() noexcept = 0;
  virtual INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept = 0;
  virtual IOptimizationProfile* createOptimizationProfile() noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual void reset() noexcept = 0;
  virtual bool platformHasTf32() const noexcept = 0;
  virtual IHostMemory* buildSerializedNetwork(INetworkDefinition& network,
                                              IBuilderConfig& config) noexcept = 0;
  virtual bool isNetworkSupported(const INetworkDefinition& network,
                                  const IBuilderConfig& config) const noexcept = 0;
  virtual ILogger* getLogger() const noexcept = 0;
  virtual bool setMaxThreads(int32_t maxThreads) noexcept = 0;
  virtual int32_t getMaxThreads() const noexcept = 0;
  virtual IPluginRegistry& getPluginRegistry() noexcept = 0;
  virtual ICudaEngine* buildEngineWithConfig(INetworkDefinition& network,
                                             IBuilderConfig& config) noexcept = 0;
  virtual bool buildSerializedNetworkToStream(INetworkDefinition& network, IBuilderConfig& config,
                                              IStreamWriter& writer) noexcept = 0;
  virtual IHostMemory* buildSerializedNetworkWithKernelText(INetworkDefinition& network,
                                                            IBuilderConfig& config,
                                                            IHostMemory*& kernelText) noexcept = 0;
};

}  // namespace apiv
}  // namespace nvinfer1

#endif  // TENON_API_IMPL_BUILDER_H
