// How an engine is built.
#ifndef TENON_API_BUILDER_CONFIG_H
#define TENON_API_BUILDER_CONFIG_H

#include "tenon/api/algorithm.h"
#include "tenon/api/calibrator.h"
#include "tenon/api/network.h"
#include "tenon/api/timing_cache.h"

namespace nvinfer1 {

enum class BuilderFlag : int32_t {
  kFP16 = 0,
  kINT8 = 1,
  kDEBUG = 2,
  kGPU_FALLBACK = 3,
  kREFIT = 4,
  kDISABLE_TIMING_CACHE = 5,
  kTF32 = 6,
  kSPARSE_WEIGHTS = 7,
  kSAFETY_SCOPE = 8,
  kOBEY_PRECISION_CONSTRAINTS = 9,
  kPREFER_PRECISION_CONSTRAINTS = 10,
  kDIRECT_IO = 11,
  kREJECT_EMPTY_ALGORITHMS = 12,
  kVERSION_COMPATIBLE = 13,
  kEXCLUDE_LEAN_RUNTIME = 14,
  kFP8 = 15,
  kERROR_ON_TIMING_CACHE_MISS = 16,
  kBF16 = 17,
  kDISABLE_COMPILATION_CACHE = 18,
  kSTRIP_PLAN = 19,
  kWEIGHTLESS = 19,
  kREFIT_IDENTICAL = 20,
  kWEIGHT_STREAMING = 21,
  kINT4 = 22,
  kREFIT_INDIVIDUAL = 23,
  kSTRICT_NANS = 24,
  kMONITOR_MEMORY = 25,
  kFP4 = 26,
  kEDITABLE_TIMING_CACHE = 27,
  kDISTRIBUTIVE_INDEPENDENCE = 28,

  // 8.x names; the last one changes nothing.
  kSTRICT_TYPES = kPREFER_PRECISION_CONSTRAINTS,
  kENABLE_TACTIC_HEURISTIC = 30,
};

template <> struct impl::EnumMaxImpl<BuilderFlag> {
  static constexpr int32_t kVALUE = 29;
};

enum class QuantizationFlag : int32_t {
  kCALIBRATE_BEFORE_FUSION = 0,
};

template <> struct impl::EnumMaxImpl<QuantizationFlag> {
  static constexpr int32_t kVALUE = 1;
};

enum class MemoryPoolType : int32_t {
  kWORKSPACE = 0,
  kDLA_MANAGED_SRAM = 1,
  kDLA_LOCAL_DRAM = 2,
  kDLA_GLOBAL_DRAM = 3,
  kTACTIC_DRAM = 4,
  kTACTIC_SHARED_MEMORY = 5,
};

template <> struct impl::EnumMaxImpl<MemoryPoolType> {
  static constexpr int32_t kVALUE = 6;
};

enum class PreviewFeature : int32_t {
  kPROFILE_SHARING_0806 = 0,
  kALIASED_PLUGIN_IO_10_03 = 1,
  kRUNTIME_ACTIVATION_RESIZE_10_10 = 2,
  kMULTIDEVICE_RUNTIME_10_16 = 3,

  // 8.x names, which change nothing.
  kFASTER_DYNAMIC_SHAPES_0805 = 30,
  kDISABLE_EXTERNAL_TACTIC_SOURCES_FOR_CORE_0805 = 31,
};

template <> struct impl::EnumMaxImpl<PreviewFeature> {
  static constexpr int32_t kVALUE = 4;
};

enum class HardwareCompatibilityLevel : int32_t {
  kNONE = 0,
  kAMPERE_PLUS = 1,
  kSAME_COMPUTE_CAPABILITY = 2,
};

template <> struct impl::EnumMaxImpl<HardwareCompatibilityLevel> {
  static constexpr int32_t kVALUE = 3;
};

enum class RuntimePlatform : int32_t {
  kSAME_AS_BUILD = 0,
  kWINDOWS_AMD64 = 1,
};

template <> struct impl::EnumMaxImpl<RuntimePlatform> {
  static constexpr int32_t kVALUE = 2;
};

enum class TilingOptimizationLevel : int32_t {
  kNONE = 0,
  kFAST = 1,
  kMODERATE = 2,
  kFULL = 3,
};

template <> struct impl::EnumMaxImpl<TilingOptimizationLevel> {
  static constexpr int32_t kVALUE = 4;
};

class IBuilderConfig : public INoCopy {
 public:
  ~IBuilderConfig() noexcept override = default;
  virtual void setAvgTimingIterations(int32_t iterations) noexcept {
    mImpl->setAvgTimingIterations(iterations);
  }
  int32_t getAvgTimingIterations() const noexcept { return mImpl->getAvgTimingIterations(); }
  void setEngineCapability(EngineCapability capability) noexcept {
    mImpl->setEngineCapability(capability);
  }
  EngineCapability getEngineCapability() const noexcept { return mImpl->getEngineCapability(); }
  void setInt8Calibrator(IInt8Calibrator* calibrator) noexcept {
    mImpl->setInt8Calibrator(calibrator);
  }
  IInt8Calibrator* getInt8Calibrator() const noexcept { return mImpl->getInt8Calibrator(); }
  void setFlags(BuilderFlags flags) noexcept { mImpl->setFlags(flags); }
  BuilderFlags getFlags() const noexcept { return mImpl->getFlags(); }
  void clearFlag(BuilderFlag flag) noexcept { mImpl->clearFlag(flag); }
  void setFlag(BuilderFlag flag) noexcept { mImpl->setFlag(flag); }
  bool getFlag(BuilderFlag flag) const noexcept { return mImpl->getFlag(flag); }
  void setDeviceType(const ILayer* layer, DeviceType deviceType) noexcept {
    mImpl->setDeviceType(layer, deviceType);
  }
  DeviceType getDeviceType(const ILayer* layer) const noexcept {
    return mImpl->getDeviceType(layer);
  }
  bool isDeviceTypeSet(const ILayer* layer) const noexcept { return mImpl->isDeviceTypeSet(layer); }
  void resetDeviceType(const ILayer* layer) noexcept { mImpl->resetDeviceType(layer); }
  bool canRunOnDLA(const ILayer* layer) const noexcept { return mImpl->canRunOnDLA(layer); }
  void setDLACore(int32_t dlaCore) noexcept { mImpl->setDLACore(dlaCore); }
  int32_t getDLACore() const noexcept { return mImpl->getDLACore(); }
  void setDefaultDeviceType(DeviceType deviceType) noexcept {
    mImpl->setDefaultDeviceType(deviceType);
  }
  DeviceType getDefaultDeviceType() const noexcept { return mImpl->getDefaultDeviceType(); }
  void reset() noexcept { mImpl->reset(); }
  void setProfileStream(cudaStream_t stream) noexcept { mImpl->setProfileStream(stream); }
  cudaStream_t getProfileStream() const noexcept { return mImpl->getProfileStream(); }
  int32_t addOptimizationProfile(const IOptimizationProfile* profile) noexcept {
    return mImpl->addOptimizationProfile(profile);
  }
  int32_t getNbOptimizationProfiles() const noexcept { return mImpl->getNbOptimizationProfiles(); }
  void setProfilingVerbosity(ProfilingVerbosity verbosity) noexcept {
    mImpl->setProfilingVerbosity(verbosity);
  }
  ProfilingVerbosity getProfilingVerbosity() const noexcept {
    return mImpl->getProfilingVerbosity();
  }
  void setAlgorithmSelector(IAlgorithmSelector* selector) noexcept {
    mImpl->setAlgorithmSelector(selector);
  }
  IAlgorithmSelector* getAlgorithmSelector() const noexcept {
    return mImpl->getAlgorithmSelector();
  }
  bool setCalibrationProfile(const IOptimizationProfile* profile) noexcept {
    return mImpl->setCalibrationProfile(profile);
  }
  const IOptimizationProfile* getCalibrationProfile() noexcept {
    return mImpl->getCalibrationProfile();
  }
  void setQuantizationFlags(QuantizationFlags flags) noexcept {
    mImpl->setQuantizationFlags(flags);
  }
  QuantizationFlags getQuantizationFlags() const noexcept { return mImpl->getQuantizationFlags(); }
  void clearQuantizationFlag(QuantizationFlag flag) noexcept { mImpl->clearQuantizationFlag(flag); }
  void setQuantizationFlag(QuantizationFlag flag) noexcept { mImpl->setQuantizationFlag(flag); }
  bool getQuantizationFlag(QuantizationFlag flag) const noexcept {
    return mImpl->getQuantizationFlag(flag);
  }
  bool setTacticSources(TacticSources tacticSources) noexcept {
    return mImpl->setTacticSources(tacticSources);
  }
  TacticSources getTacticSources() const noexcept { return mImpl->getTacticSources(); }
  ITimingCache* createTimingCache(const void* blob, size_t size) const noexcept {
    return mImpl->createTimingCache(blob, size);
  }
  bool setTimingCache(const ITimingCache& cache, bool ignoreMismatch) noexcept {
    return mImpl->setTimingCache(cache, ignoreMismatch);
  }
  const ITimingCache* getTimingCache() const noexcept { return mImpl->getTimingCache(); }
  void setMemoryPoolLimit(MemoryPoolType pool, size_t poolSize) noexcept {
    mImpl->setMemoryPoolLimit(pool, poolSize);
  }
  size_t getMemoryPoolLimit(MemoryPoolType pool) const noexcept {
    return mImpl->getMemoryPoolLimit(pool);
  }
  void setPreviewFeature(PreviewFeature feature, bool enable) noexcept {
    mImpl->setPreviewFeature(feature, enable);
  }
  bool getPreviewFeature(PreviewFeature feature) const noexcept {
    return mImpl->getPreviewFeature(feature);
  }
  void setBuilderOptimizationLevel(int32_t level) noexcept {
    mImpl->setBuilderOptimizationLevel(level);
  }
  int32_t getBuilderOptimizationLevel() noexcept { return mImpl->getBuilderOptimizationLevel(); }
  void setHardwareCompatibilityLevel(HardwareCompatibilityLevel level) noexcept {
    mImpl->setHardwareCompatibilityLevel(level);
  }
  HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept {
    return mImpl->getHardwareCompatibilityLevel();
  }
  void setPluginsToSerialize(const char* const* paths, int32_t nbPaths) noexcept {
    mImpl->setPluginsToSerialize(paths, nbPaths);
  }
  const char* getPluginToSerialize(int32_t index) const noexcept {
    return mImpl->getPluginToSerialize(index);
  }
  int32_t getNbPluginsToSerialize() const noexcept { return mImpl->getNbPluginsToSerialize(); }
  void setMaxAuxStreams(int32_t nbStreams) noexcept { mImpl->setMaxAuxStreams(nbStreams); }
  int32_t getMaxAuxStreams() const noexcept { return mImpl->getMaxAuxStreams(); }
  void setProgressMonitor(IProgressMonitor* monitor) noexcept {
    mImpl->setProgressMonitor(monitor);
  }
  IProgressMonitor* getProgressMonitor() const noexcept { return mImpl->getProgressMonitor(); }
  void setRuntimePlatform(RuntimePlatform runtimePlatform) noexcept {
    mImpl->setRuntimePlatform(runtimePlatform);
  }
  RuntimePlatform getRuntimePlatform() const noexcept { return mImpl->getRuntimePlatform(); }
  void setMaxNbTactics(int32_t maxNbTactics) noexcept { mImpl->setMaxNbTactics(maxNbTactics); }
  int32_t getMaxNbTactics() const noexcept { return mImpl->getMaxNbTactics(); }
  bool setTilingOptimizationLevel(TilingOptimizationLevel level) noexcept {
    return mImpl->setTilingOptimizationLevel(level);
  }
  TilingOptimizationLevel getTilingOptimizationLevel() const noexcept {
    return mImpl->getTilingOptimizationLevel();
  }
  bool setL2LimitForTiling(int64_t size) noexcept { return mImpl->setL2LimitForTiling(size); }
  int64_t getL2LimitForTiling() const noexcept { return mImpl->getL2LimitForTiling(); }
  bool setRemoteAutoTuningConfig(const char* config) noexcept {
    return mImpl->setRemoteAutoTuningConfig(config);
  }
  const char* getRemoteAutoTuningConfig() const noexcept {
    return mImpl->getRemoteAutoTuningConfig();
  }

#include "tenon/compat8/IBuilderConfig.inl"
 protected:
  apiv::VBuilderConfig* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_BUILDER_CONFIG_H
