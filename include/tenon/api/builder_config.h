// How an engine is built.
#ifndef TENON_API_BUILDER_CONFIG_H
#define TENON_API_BUILDER_CONFIG_H

#include "tenon/api/algorithm.h"
#include "tenon/api/calibrator.h"
#include "tenon/api/network.h"
#include "tenon/api/timing_cache.h"

namespace nvinfer1 {

/// How an engine is built, one bit each.
enum class BuilderFlag : int32_t {
  kFP16 TENON_REMOVED_IN_11 = 0,  ///< Allows kernels that compute in kHALF.
  kINT8 TENON_REMOVED_IN_11 = 1,  ///< Allows kernels that compute in kINT8.
  kDEBUG = 2,                     ///< Waits for each kernel, so that errors show where they happen.
  kGPU_FALLBACK = 3,              ///< Lets layers that DLA cannot run go to the device.
  kREFIT = 4,                     ///< Makes weights changeable.
  /// Times every layer, also those that are the same; a timing cache is neither read nor written.
  kDISABLE_TIMING_CACHE = 5,
  /// Allows kernels that round the inputs of products to 10 bits of fraction; set by default, which
  /// changes nothing on a CPU: there it counts where the application sets it.
  kTF32 = 6,
  kSPARSE_WEIGHTS = 7,  ///< Allows kernels that use zeros in weights.
  kSAFETY_SCOPE = 8,    ///< Restricts layers to those of the safety runtime.
  kOBEY_PRECISION_CONSTRAINTS TENON_REMOVED_IN_11 =
      9,  ///< Types asked for are kept, or the build fails.
  /// Types asked for are kept where possible, with a warning elsewhere.
  kPREFER_PRECISION_CONSTRAINTS TENON_REMOVED_IN_11 = 10,
  kDIRECT_IO = 11,  ///< Inputs and outputs are not converted.
  kREJECT_EMPTY_ALGORITHMS TENON_REMOVED_IN_11 =
      12,                            ///< The build fails if an algorithm selector selects nothing.
  kVERSION_COMPATIBLE = 13,          ///< Lets later versions open the plan.
  kEXCLUDE_LEAN_RUNTIME = 14,        ///< Leaves the lean runtime out of such plans.
  kFP8 TENON_REMOVED_IN_11 = 15,     ///< Allows kernels that compute in kFP8.
  kERROR_ON_TIMING_CACHE_MISS = 16,  ///< The build fails if a timing is not in the cache.
  kBF16 TENON_REMOVED_IN_11 = 17,    ///< Allows kernels that compute in kBF16.
  kDISABLE_COMPILATION_CACHE = 18,   ///< Does not keep compiled kernels in the timing cache.
  kSTRIP_PLAN = 19,                  ///< Leaves weights that can be refitted out of the plan.
  kWEIGHTLESS TENON_REMOVED_IN_11 = 19,  ///< The old name of kSTRIP_PLAN.
  kREFIT_IDENTICAL = 20,                 ///< Like kREFIT, for the same weights only.
  kWEIGHT_STREAMING = 21,  ///< Lets weights stay on the host; only for strongly typed networks.
  kINT4 TENON_REMOVED_IN_11 = 22,   ///< Allows weights of type kINT4.
  kREFIT_INDIVIDUAL = 23,           ///< Makes weights changeable that are marked so.
  kSTRICT_NANS = 24,                ///< Keeps to IEEE where a value is not a number.
  kMONITOR_MEMORY = 25,             ///< Logs the memory used while building.
  kFP4 TENON_REMOVED_IN_11 = 26,    ///< Allows weights and activations of type kFP4.
  kEDITABLE_TIMING_CACHE = 27,      ///< Lets timings of the cache be changed.
  kDISTRIBUTIVE_INDEPENDENCE = 28,  ///< Results do not depend on where in a batch an item lies.

  // 8.x names; the last one changes nothing.
  kSTRICT_TYPES TENON_REMOVED_IN_11 = 10,  ///< kPREFER_PRECISION_CONSTRAINTS
  kENABLE_TACTIC_HEURISTIC TENON_REMOVED_IN_11 = 30,
};

template <> struct impl::EnumMaxImpl<BuilderFlag> {
  static constexpr int32_t kVALUE = 29;
};

/// How calibration works, one bit each.
enum class QuantizationFlag : int32_t {
  kCALIBRATE_BEFORE_FUSION TENON_REMOVED_IN_11 = 0,  ///< Ranges are found before layers are fused.
};

template <> struct impl::EnumMaxImpl<QuantizationFlag> {
  static constexpr int32_t kVALUE = 1;
};

/// A kind of memory that can be limited.
enum class MemoryPoolType : int32_t {
  kWORKSPACE = 0,  ///< Scratch memory of kernels.
  kDLA_MANAGED_SRAM = 1,
  kDLA_LOCAL_DRAM = 2,
  kDLA_GLOBAL_DRAM = 3,
  kTACTIC_DRAM = 4,           ///< Memory for timing kernels.
  kTACTIC_SHARED_MEMORY = 5,  ///< On-chip memory of one block of a kernel.
};

template <> struct impl::EnumMaxImpl<MemoryPoolType> {
  static constexpr int32_t kVALUE = 6;
};

/// Features on their way in or out.
enum class PreviewFeature : int32_t {
  kPROFILE_SHARING_0806 TENON_REMOVED_IN_11 = 0,  ///< Several contexts use one profile; always so.
  kALIASED_PLUGIN_IO_10_03 = 1,                   ///< Plugins may write results into their inputs.
  kRUNTIME_ACTIVATION_RESIZE_10_10 = 2,  ///< Contexts may use less memory for smaller shapes.
  kMULTIDEVICE_RUNTIME_10_16 TENON_REMOVED_IN_11 = 3,  ///< An engine may run on several devices.

  // 8.x names, which change nothing.
  kFASTER_DYNAMIC_SHAPES_0805 = 30,
  kDISABLE_EXTERNAL_TACTIC_SOURCES_FOR_CORE_0805 = 31,
};

template <> struct impl::EnumMaxImpl<PreviewFeature> {
  static constexpr int32_t kVALUE = 4;
};

/// Which devices an engine runs on.
enum class HardwareCompatibilityLevel : int32_t {
  kNONE = 0,                     ///< The one it was built on.
  kAMPERE_PLUS = 1,              ///< All from compute capability 8.0 on.
  kSAME_COMPUTE_CAPABILITY = 2,  ///< All of the same compute capability.
};

template <> struct impl::EnumMaxImpl<HardwareCompatibilityLevel> {
  static constexpr int32_t kVALUE = 3;
};

/// The system that an engine is built for.
enum class RuntimePlatform : int32_t {
  kSAME_AS_BUILD = 0,  ///< The one it is built on.
  kWINDOWS_AMD64 = 1,  ///< Windows on 64-bit x86.
};

template <> struct impl::EnumMaxImpl<RuntimePlatform> {
  static constexpr int32_t kVALUE = 2;
};

/// How long is looked for ways to keep data in the cache.
enum class TilingOptimizationLevel : int32_t {
  kNONE = 0,      ///< Not at all.
  kFAST = 1,      ///< Shortly.
  kMODERATE = 2,  ///< For a while.
  kFULL = 3,      ///< As long as it takes.
};

template <> struct impl::EnumMaxImpl<TilingOptimizationLevel> {
  static constexpr int32_t kVALUE = 4;
};

/// How an engine is built. The caller deletes it before the builder.
class IBuilderConfig : public INoCopy {
 public:
  ~IBuilderConfig() noexcept override = default;

  /// Sets how often each kernel is timed.
  virtual void setAvgTimingIterations(int32_t iterations) noexcept {
    mImpl->setAvgTimingIterations(iterations);
  }

  /// How often each kernel is timed.
  int32_t getAvgTimingIterations() const noexcept { return mImpl->getAvgTimingIterations(); }

  /// Sets which restrictions the engine keeps to.
  void setEngineCapability(EngineCapability capability) noexcept {
    mImpl->setEngineCapability(capability);
  }

  /// Which restrictions the engine keeps to.
  EngineCapability getEngineCapability() const noexcept { return mImpl->getEngineCapability(); }

  /// Sets who feeds inputs for calibration, not owned; null for nobody.
  TENON_REMOVED_IN_11 void setInt8Calibrator(IInt8Calibrator* calibrator) noexcept {
    mImpl->setInt8Calibrator(calibrator);
  }

  /// Who feeds inputs for calibration; null if nobody.
  TENON_REMOVED_IN_11 IInt8Calibrator* getInt8Calibrator() const noexcept {
    return mImpl->getInt8Calibrator();
  }

  /// Sets all bits of BuilderFlag.
  void setFlags(BuilderFlags flags) noexcept { mImpl->setFlags(flags); }

  /// The bits of BuilderFlag.
  BuilderFlags getFlags() const noexcept { return mImpl->getFlags(); }

  /// Clears one flag.
  void clearFlag(BuilderFlag flag) noexcept { mImpl->clearFlag(flag); }

  /// Sets one flag.
  void setFlag(BuilderFlag flag) noexcept { mImpl->setFlag(flag); }

  /// Whether one flag is set.
  bool getFlag(BuilderFlag flag) const noexcept { return mImpl->getFlag(flag); }

  /// Sets what runs a layer.
  void setDeviceType(const ILayer* layer, DeviceType deviceType) noexcept {
    mImpl->setDeviceType(layer, deviceType);
  }

  /// What runs a layer.
  DeviceType getDeviceType(const ILayer* layer) const noexcept {
    return mImpl->getDeviceType(layer);
  }

  /// Whether it was set what runs a layer.
  bool isDeviceTypeSet(const ILayer* layer) const noexcept { return mImpl->isDeviceTypeSet(layer); }

  /// Forgets what runs a layer.
  void resetDeviceType(const ILayer* layer) noexcept { mImpl->resetDeviceType(layer); }

  /// Whether DLA could run a layer.
  bool canRunOnDLA(const ILayer* layer) const noexcept { return mImpl->canRunOnDLA(layer); }

  /// Chooses a DLA core; there is none.
  void setDLACore(int32_t dlaCore) noexcept { mImpl->setDLACore(dlaCore); }

  /// The DLA core chosen; -1 if none.
  int32_t getDLACore() const noexcept { return mImpl->getDLACore(); }

  /// Sets what runs layers for which nothing else is said.
  void setDefaultDeviceType(DeviceType deviceType) noexcept {
    mImpl->setDefaultDeviceType(deviceType);
  }

  /// What runs layers for which nothing else is said.
  DeviceType getDefaultDeviceType() const noexcept { return mImpl->getDefaultDeviceType(); }

  /// Puts everything back to how it was at first.
  void reset() noexcept { mImpl->reset(); }

  /// Sets the stream that kernels are timed on.
  void setProfileStream(cudaStream_t stream) noexcept { mImpl->setProfileStream(stream); }

  /// The stream that kernels are timed on.
  cudaStream_t getProfileStream() const noexcept { return mImpl->getProfileStream(); }

  /// Adds a profile and returns its index; -1 if it is not valid. A network with dimensions that
  /// vary needs one.
  int32_t addOptimizationProfile(const IOptimizationProfile* profile) noexcept {
    return mImpl->addOptimizationProfile(profile);
  }

  /// The number of profiles added.
  int32_t getNbOptimizationProfiles() const noexcept { return mImpl->getNbOptimizationProfiles(); }

  /// Sets how much the engine tells about its layers.
  void setProfilingVerbosity(ProfilingVerbosity verbosity) noexcept {
    mImpl->setProfilingVerbosity(verbosity);
  }

  /// How much the engine tells about its layers.
  ProfilingVerbosity getProfilingVerbosity() const noexcept {
    return mImpl->getProfilingVerbosity();
  }

  /// Sets who chooses kernels, not owned; null for the builder.
  TENON_REMOVED_IN_11 void setAlgorithmSelector(v_1_0::IAlgorithmSelector* selector) noexcept {
    mImpl->setAlgorithmSelector(selector);
  }

  /// Who chooses kernels; null if the builder.
  TENON_REMOVED_IN_11 v_1_0::IAlgorithmSelector* getAlgorithmSelector() const noexcept {
    return mImpl->getAlgorithmSelector();
  }

  /// Sets the shapes that calibration runs with; false if they are not valid.
  TENON_REMOVED_IN_11 bool setCalibrationProfile(const IOptimizationProfile* profile) noexcept {
    return mImpl->setCalibrationProfile(profile);
  }

  /// The shapes that calibration runs with; null if none were set.
  TENON_REMOVED_IN_11 const IOptimizationProfile* getCalibrationProfile() noexcept {
    return mImpl->getCalibrationProfile();
  }

  /// Sets all bits of QuantizationFlag.
  TENON_REMOVED_IN_11 void setQuantizationFlags(QuantizationFlags flags) noexcept {
    mImpl->setQuantizationFlags(flags);
  }

  /// The bits of QuantizationFlag.
  TENON_REMOVED_IN_11 QuantizationFlags getQuantizationFlags() const noexcept {
    return mImpl->getQuantizationFlags();
  }

  /// Clears one flag of calibration.
  TENON_REMOVED_IN_11 void clearQuantizationFlag(QuantizationFlag flag) noexcept {
    mImpl->clearQuantizationFlag(flag);
  }

  /// Sets one flag of calibration.
  TENON_REMOVED_IN_11 void setQuantizationFlag(QuantizationFlag flag) noexcept {
    mImpl->setQuantizationFlag(flag);
  }

  /// Whether one flag of calibration is set.
  TENON_REMOVED_IN_11 bool getQuantizationFlag(QuantizationFlag flag) const noexcept {
    return mImpl->getQuantizationFlag(flag);
  }

  /// Sets where kernels may come from, bit n for value n of TacticSource; false on failure.
  bool setTacticSources(TacticSources tacticSources) noexcept {
    return mImpl->setTacticSources(tacticSources);
  }

  /// Where kernels may come from.
  TacticSources getTacticSources() const noexcept { return mImpl->getTacticSources(); }

  /// Makes a timing cache from bytes of serialize(), or an empty one if there are none; null if
  /// they are damaged. The caller deletes it.
  ITimingCache* createTimingCache(const void* blob, size_t size) const noexcept {
    return mImpl->createTimingCache(blob, size);
  }

  /// Sets the cache that is read and added to, not owned; false if it is of another device or
  /// version and `ignoreMismatch` is false.
  bool setTimingCache(const ITimingCache& cache, bool ignoreMismatch) noexcept {
    return mImpl->setTimingCache(cache, ignoreMismatch);
  }

  /// The cache that was set; null if none.
  const ITimingCache* getTimingCache() const noexcept { return mImpl->getTimingCache(); }

  /// Limits a kind of memory, in bytes.
  void setMemoryPoolLimit(MemoryPoolType pool, size_t poolSize) noexcept {
    mImpl->setMemoryPoolLimit(pool, poolSize);
  }

  /// The limit of a kind of memory, in bytes.
  size_t getMemoryPoolLimit(MemoryPoolType pool) const noexcept {
    return mImpl->getMemoryPoolLimit(pool);
  }

  /// Turns a feature on or off.
  void setPreviewFeature(PreviewFeature feature, bool enable) noexcept {
    mImpl->setPreviewFeature(feature, enable);
  }

  /// Whether a feature is on.
  bool getPreviewFeature(PreviewFeature feature) const noexcept {
    return mImpl->getPreviewFeature(feature);
  }

  /// Sets how much time is spent for a faster engine, from 0 to 5; 3 at first.
  void setBuilderOptimizationLevel(int32_t level) noexcept {
    mImpl->setBuilderOptimizationLevel(level);
  }

  /// How much time is spent for a faster engine.
  int32_t getBuilderOptimizationLevel() noexcept { return mImpl->getBuilderOptimizationLevel(); }

  /// Sets which devices the engine runs on.
  void setHardwareCompatibilityLevel(HardwareCompatibilityLevel level) noexcept {
    mImpl->setHardwareCompatibilityLevel(level);
  }

  /// Which devices the engine runs on.
  HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept {
    return mImpl->getHardwareCompatibilityLevel();
  }

  /// Sets plugin libraries that the plan carries; the paths are copied.
  void setPluginsToSerialize(const char* const* paths, int32_t nbPaths) noexcept {
    mImpl->setPluginsToSerialize(paths, nbPaths);
  }

  /// The path of one such library; null if it is out of range.
  const char* getPluginToSerialize(int32_t index) const noexcept {
    return mImpl->getPluginToSerialize(index);
  }

  /// The number of such libraries.
  int32_t getNbPluginsToSerialize() const noexcept { return mImpl->getNbPluginsToSerialize(); }

  /// Limits the streams that a run uses besides the one it is given: on a GPU, branches of the
  /// network run side by side in them. 0 for none, at most 64. By default, -1, there are none: the
  /// gain is small where kernels fill the GPU, and branches that run side by side share no memory.
#if TENON_TRT_API < 11
  void setMaxAuxStreams(int32_t nbStreams) noexcept { mImpl->setMaxAuxStreams(nbStreams); }
#else
  __attribute__((abi_tag("trt11"))) bool setMaxAuxStreams(int32_t nbStreams) noexcept {
    mImpl->setMaxAuxStreams(nbStreams);
    return mImpl->getMaxAuxStreams() == nbStreams;
  }
#endif

  /// That limit; -1 if the builder chooses.
  int32_t getMaxAuxStreams() const noexcept { return mImpl->getMaxAuxStreams(); }

  /// Sets who follows the build, not owned; null for nobody.
  void setProgressMonitor(IProgressMonitor* monitor) noexcept {
    mImpl->setProgressMonitor(monitor);
  }

  /// Who follows the build; null if nobody.
  IProgressMonitor* getProgressMonitor() const noexcept { return mImpl->getProgressMonitor(); }

  /// Sets the system that the engine is built for.
  void setRuntimePlatform(RuntimePlatform runtimePlatform) noexcept {
    mImpl->setRuntimePlatform(runtimePlatform);
  }

  /// The system that the engine is built for.
  RuntimePlatform getRuntimePlatform() const noexcept { return mImpl->getRuntimePlatform(); }

  /// Limits how many kernels are timed per layer; -1 for the builder's choice.
  void setMaxNbTactics(int32_t maxNbTactics) noexcept { mImpl->setMaxNbTactics(maxNbTactics); }

  /// How many kernels are timed per layer at most.
  int32_t getMaxNbTactics() const noexcept { return mImpl->getMaxNbTactics(); }

  /// Sets how long is looked for ways to keep data in the cache; false on failure.
  bool setTilingOptimizationLevel(TilingOptimizationLevel level) noexcept {
    return mImpl->setTilingOptimizationLevel(level);
  }

  /// How long is looked for ways to keep data in the cache.
  TilingOptimizationLevel getTilingOptimizationLevel() const noexcept {
    return mImpl->getTilingOptimizationLevel();
  }

  /// Sets how much of the cache may be used for that, in bytes; false on failure.
  bool setL2LimitForTiling(int64_t size) noexcept { return mImpl->setL2LimitForTiling(size); }

  /// How much of the cache may be used for that, in bytes.
  int64_t getL2LimitForTiling() const noexcept { return mImpl->getL2LimitForTiling(); }

  /// Sets the machine that kernels are timed on; false if it cannot be used.
  bool setRemoteAutoTuningConfig(const char* config) noexcept {
    return mImpl->setRemoteAutoTuningConfig(config);
  }

  /// The machine that kernels are timed on; null if this one.
  const char* getRemoteAutoTuningConfig() const noexcept {
    return mImpl->getRemoteAutoTuningConfig();
  }

#if TENON_TRT_OLDER_NAMES
#include "tenon/compat8/IBuilderConfig.inl"
#endif
 protected:
  apiv::VBuilderConfig* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_BUILDER_CONFIG_H
