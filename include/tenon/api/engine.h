// Engines: what a plan becomes once it is opened.
#ifndef TENON_API_ENGINE_H
#define TENON_API_ENGINE_H

#include "tenon/api/profile.h"
#include "tenon/api/runtime.h"
#include "tenon/compat8/bindings.h"

namespace nvinfer1 {

/// What runs a layer.
enum class DeviceType : int32_t {
  kGPU = 0,  ///< The device of the engine.
  kDLA = 1,  ///< A DLA core.
};

template <> struct impl::EnumMaxImpl<DeviceType> {
  static constexpr int32_t kVALUE = 2;
};

/// What a tensor is to an engine.
enum class TensorIOMode : int32_t {
  kNONE = 0,    ///< Neither input nor output.
  kINPUT = 1,   ///< An input.
  kOUTPUT = 2,  ///< An output.
};

template <> struct impl::EnumMaxImpl<TensorIOMode> {
  static constexpr int32_t kVALUE = 3;
};

/// How much an engine tells about its layers.
enum class ProfilingVerbosity : int32_t {
  kLAYER_NAMES_ONLY = 0,  ///< Their names.
  kNONE = 1,              ///< Nothing.
  kDETAILED = 2,          ///< Their names, shapes, formats and kernels.

  // 8.x names.
  kDEFAULT = kLAYER_NAMES_ONLY,
  kVERBOSE = kDETAILED,
};

template <> struct impl::EnumMaxImpl<ProfilingVerbosity> {
  static constexpr int32_t kVALUE = 3;
};

/// Where kernels may come from, one bit each.
enum class TacticSource : int32_t {
  kCUBLAS TENON_REMOVED_IN_11 = 0,
  kCUBLAS_LT TENON_REMOVED_IN_11 = 1,
  kCUDNN TENON_REMOVED_IN_11 = 2,
  kEDGE_MASK_CONVOLUTIONS = 3,
  kJIT_CONVOLUTIONS = 4,
};

template <> struct impl::EnumMaxImpl<TacticSource> {
  static constexpr int32_t kVALUE = 5;
};

/// What a plan is written with, one bit each.
enum class SerializationFlag : int32_t {
  kEXCLUDE_WEIGHTS = 0,       ///< Leaves the weights out.
  kEXCLUDE_LEAN_RUNTIME = 1,  ///< Leaves the lean runtime out.
  kINCLUDE_REFIT = 2,         ///< Keeps the plan refittable.
};

template <> struct impl::EnumMaxImpl<SerializationFlag> {
  static constexpr int32_t kVALUE = 3;
};

/// How serializeWithConfig() writes a plan. The caller deletes it.
class ISerializationConfig : public INoCopy {
 public:
  ~ISerializationConfig() noexcept override = default;

  /// Sets the bits of SerializationFlag; false if they contradict each other.
  bool setFlags(SerializationFlags flags) noexcept { return mImpl->setFlags(flags); }

  /// The bits of SerializationFlag.
  SerializationFlags getFlags() const noexcept { return mImpl->getFlags(); }

  /// Clears one bit; false on failure.
  bool clearFlag(SerializationFlag flag) noexcept { return mImpl->clearFlag(flag); }

  /// Sets one bit; false on failure.
  bool setFlag(SerializationFlag flag) noexcept { return mImpl->setFlag(flag); }

  /// Whether one bit is set.
  bool getFlag(SerializationFlag flag) const noexcept { return mImpl->getFlag(flag); }

 protected:
  apiv::VSerializationConfig* mImpl;
};

/// When a context allocates its memory.
enum class ExecutionContextAllocationStrategy : int32_t {
  kSTATIC = 0,             ///< When it is made, enough for every profile.
  kON_PROFILE_CHANGE = 1,  ///< When a profile is selected, enough for that one.
  kUSER_MANAGED = 2,       ///< Never: the application sets it with setDeviceMemoryV2().
};

template <> struct impl::EnumMaxImpl<ExecutionContextAllocationStrategy> {
  static constexpr int32_t kVALUE = 3;
};

/// How a context is made. The caller deletes it.
class IRuntimeConfig : public INoCopy {
 public:
  ~IRuntimeConfig() noexcept override = default;

  /// Sets when the context allocates its memory.
  void setExecutionContextAllocationStrategy(ExecutionContextAllocationStrategy strategy) noexcept {
    mImpl->setExecutionContextAllocationStrategy(strategy);
  }

  /// When the context allocates its memory.
  ExecutionContextAllocationStrategy getExecutionContextAllocationStrategy() const noexcept {
    return mImpl->getExecutionContextAllocationStrategy();
  }

 protected:
  apiv::VRuntimeConfig* mImpl;
};

/// A number that an engine knows about itself.
enum class EngineStat : int32_t {
  kTOTAL_WEIGHTS_SIZE = 0,     ///< The size of all weights in bytes.
  kSTRIPPED_WEIGHTS_SIZE = 1,  ///< The size of the weights left out of the plan, in bytes.
};

template <> struct impl::EnumMaxImpl<EngineStat> {
  static constexpr int32_t kVALUE = 2;
};

/// An opened plan. It never changes, apart from refitting, and is safe to use from several threads.
/// The caller deletes it, after its contexts.
class ICudaEngine : public INoCopy {
 public:
  ~ICudaEngine() noexcept override = default;

  /// The shape of an input or output, with -1 for dimensions that vary; nbDims is -1 if there is no
  /// such tensor.
  Dims getTensorShape(const char* tensorName) const noexcept {
    return mImpl->getTensorShape(tensorName);
  }

  /// The type of the elements of an input or output; kFLOAT if there is no such tensor.
  DataType getTensorDataType(const char* tensorName) const noexcept {
    return mImpl->getTensorDataType(tensorName);
  }

  /// The number of layers after optimization.
  int32_t getNbLayers() const noexcept { return mImpl->getNbLayers(); }

  /// The plan, which the caller deletes; null on failure.
  IHostMemory* serialize() const noexcept { return mImpl->serialize(); }

  /// Makes a context, which the caller deletes before the engine; null on failure.
  IExecutionContext* createExecutionContext(
      ExecutionContextAllocationStrategy strategy =
          ExecutionContextAllocationStrategy::kSTATIC) noexcept {
    return mImpl->createExecutionContext(strategy);
  }

  /// Where the buffer of an input or output must lie.
  TensorLocation getTensorLocation(const char* tensorName) const noexcept {
    return mImpl->getTensorLocation(tensorName);
  }

  /// Whether the values of an input decide shapes, or an output is one of them.
  bool isShapeInferenceIO(const char* tensorName) const noexcept {
    return mImpl->isShapeInferenceIO(tensorName);
  }

  /// Whether the tensor is an input or an output; kNONE if there is no such tensor.
  TensorIOMode getTensorIOMode(const char* tensorName) const noexcept {
    return mImpl->getTensorIOMode(tensorName);
  }

  /// The input whose buffer an output must share; null if none.
  const char* getAliasedInputTensor(const char* tensorName) const noexcept {
    return mImpl->getAliasedInputTensor(tensorName);
  }

  /// Makes a context that runs in memory set with setDeviceMemory(); null on failure.
  TENON_REMOVED_IN_11 IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept {
    return mImpl->createExecutionContextWithoutDeviceMemory();
  }

  /// Makes a context as configured, which the caller deletes before the engine; null on failure.
  IExecutionContext* createExecutionContext(IRuntimeConfig* runtimeConfig) noexcept {
    return mImpl->createExecutionContextWithRuntimeConfig(runtimeConfig);
  }

  /// Makes a configuration of contexts, which the caller deletes.
  IRuntimeConfig* createRuntimeConfig() noexcept { return mImpl->createRuntimeConfig(); }

  /// The memory in bytes that a context needs for the largest profile.
  TENON_REMOVED_IN_11 size_t getDeviceMemorySize() const noexcept {
    return mImpl->getDeviceMemorySize();
  }

  /// The memory in bytes that a context needs for one profile.
  TENON_REMOVED_IN_11 size_t getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept {
    return mImpl->getDeviceMemorySizeForProfile(profileIndex);
  }

  /// The memory in bytes that a context needs for the largest profile.
  int64_t getDeviceMemorySizeV2() const noexcept { return mImpl->getDeviceMemorySizeV2(); }

  /// The memory in bytes that a context needs for one profile; 0 if there is no such profile.
  int64_t getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept {
    return mImpl->getDeviceMemorySizeForProfileV2(profileIndex);
  }

  /// Whether weights can be changed.
  bool isRefittable() const noexcept { return mImpl->isRefittable(); }

  /// The size of one component of a vectorised format in bytes; -1 for other formats.
  int32_t getTensorBytesPerComponent(const char* tensorName) const noexcept {
    return mImpl->getTensorBytesPerComponent(tensorName);
  }

  /// The same for one profile.
  int32_t getTensorBytesPerComponent(const char* tensorName, int32_t profileIndex) const noexcept {
    return mImpl->getTensorBytesPerComponentV2(tensorName, profileIndex);
  }

  /// How many components one element of a vectorised format has; -1 for other formats.
  int32_t getTensorComponentsPerElement(const char* tensorName) const noexcept {
    return mImpl->getTensorComponentsPerElement(tensorName);
  }

  /// The same for one profile.
  int32_t getTensorComponentsPerElement(const char* tensorName,
                                        int32_t profileIndex) const noexcept {
    return mImpl->getTensorComponentsPerElementV2(tensorName, profileIndex);
  }

  /// How the elements lie in memory, in the first profile.
  TensorFormat getTensorFormat(const char* tensorName) const noexcept {
    return mImpl->getTensorFormat(tensorName);
  }

  /// The same for one profile.
  TensorFormat getTensorFormat(const char* tensorName, int32_t profileIndex) const noexcept {
    return mImpl->getTensorFormatV2(tensorName, profileIndex);
  }

  /// The format in words; owned by the engine.
  const char* getTensorFormatDesc(const char* tensorName) const noexcept {
    return mImpl->getTensorFormatDesc(tensorName);
  }

  /// The same for one profile.
  const char* getTensorFormatDesc(const char* tensorName, int32_t profileIndex) const noexcept {
    return mImpl->getTensorFormatDescV2(tensorName, profileIndex);
  }

  /// The dimension that a vectorised format packs; -1 for other formats.
  int32_t getTensorVectorizedDim(const char* tensorName) const noexcept {
    return mImpl->getTensorVectorizedDim(tensorName);
  }

  /// The same for one profile.
  int32_t getTensorVectorizedDim(const char* tensorName, int32_t profileIndex) const noexcept {
    return mImpl->getTensorVectorizedDimV2(tensorName, profileIndex);
  }

  /// The name of the network that the engine was built from.
  const char* getName() const noexcept { return mImpl->getName(); }

  /// The number of profiles, at least 1.
  int32_t getNbOptimizationProfiles() const noexcept { return mImpl->getNbOptimizationProfiles(); }

  /// The smallest, usual or largest shape of an input in a profile; nbDims is -1 if there is none.
  Dims getProfileShape(const char* tensorName, int32_t profileIndex,
                       OptProfileSelector selector) const noexcept {
    return mImpl->getProfileShape(tensorName, profileIndex, selector);
  }

  /// The smallest, usual or largest values of a shape input of 32-bit integers; null if there are
  /// none.
  TENON_REMOVED_IN_11 const int32_t* getProfileTensorValues(
      const char* tensorName, int32_t profileIndex, OptProfileSelector selector) const noexcept {
    return mImpl->getProfileTensorValues(tensorName, profileIndex, selector);
  }

  /// Which restrictions the engine keeps to.
  EngineCapability getEngineCapability() const noexcept { return mImpl->getEngineCapability(); }

  /// Sets where errors are recorded, instead of the one set before; null for none.
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }

  /// The recorder that was set; null if none.
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }

  /// Whether the batch is not a dimension of the tensors; only networks of 8.x programs have that.
  TENON_REMOVED_IN_11 bool hasImplicitBatchDimension() const noexcept {
    return mImpl->hasImplicitBatchDimension();
  }

  /// The bits of TacticSource that the engine was built with.
  TacticSources getTacticSources() const noexcept { return mImpl->getTacticSources(); }

  /// How much the engine tells about its layers.
  ProfilingVerbosity getProfilingVerbosity() const noexcept {
    return mImpl->getProfilingVerbosity();
  }

  /// Makes an inspector, which the caller deletes before the engine.
  IEngineInspector* createEngineInspector() const noexcept {
    return mImpl->createEngineInspector();
  }

  /// The number of inputs and outputs.
  int32_t getNbIOTensors() const noexcept { return mImpl->getNbIOTensors(); }

  /// The name of input or output `index`, owned by the engine; null if out of range.
  const char* getIOTensorName(int32_t index) const noexcept {
    return mImpl->getIOTensorName(index);
  }

  /// Which devices the engine runs on.
  HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept {
    return mImpl->getHardwareCompatibilityLevel();
  }

  /// The number of streams that a run uses besides the one it is given; at most
  /// IBuilderConfig::getMaxAuxStreams(), and 0 where the engine runs on the host.
  int32_t getNbAuxStreams() const noexcept { return mImpl->getNbAuxStreams(); }

  /// Makes a configuration of serializeWithConfig(), which the caller deletes.
  ISerializationConfig* createSerializationConfig() noexcept {
    return mImpl->createSerializationConfig();
  }

  /// The plan written as configured, which the caller deletes; null on failure.
  IHostMemory* serializeWithConfig(ISerializationConfig& config) const noexcept {
    return mImpl->serializeWithConfig(config);
  }

  /// Limits the device memory for weights that are streamed, in bytes; false on failure.
  TENON_REMOVED_IN_11 bool setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept {
    return mImpl->setWeightStreamingBudget(gpuMemoryBudget);
  }

  /// The limit set by setWeightStreamingBudget().
  TENON_REMOVED_IN_11 int64_t getWeightStreamingBudget() const noexcept {
    return mImpl->getWeightStreamingBudget();
  }

  /// The smallest limit, in bytes.
  TENON_REMOVED_IN_11 int64_t getMinimumWeightStreamingBudget() const noexcept {
    return mImpl->getMinimumWeightStreamingBudget();
  }

  /// The size of the weights that can be streamed, in bytes.
  int64_t getStreamableWeightsSize() const noexcept { return mImpl->getStreamableWeightsSize(); }

  /// Limits the device memory for weights that are streamed, in bytes; false on failure. No context
  /// may exist.
  bool setWeightStreamingBudgetV2(int64_t gpuMemoryBudget) noexcept {
    return mImpl->setWeightStreamingBudgetV2(gpuMemoryBudget);
  }

  /// The limit set by setWeightStreamingBudgetV2().
  int64_t getWeightStreamingBudgetV2() const noexcept {
    return mImpl->getWeightStreamingBudgetV2();
  }

  /// A limit that the library recommends, in bytes.
  int64_t getWeightStreamingAutomaticBudget() const noexcept {
    return mImpl->getWeightStreamingAutomaticBudget();
  }

  /// The memory in bytes that streaming itself needs in a context.
  int64_t getWeightStreamingScratchMemorySize() const noexcept {
    return mImpl->getWeightStreamingScratchMemorySize();
  }

  /// Whether the tensor was marked for debugging.
  bool isDebugTensor(const char* name) const noexcept { return mImpl->isDebugTensor(name); }

  /// The smallest, usual or largest values of a shape input of 64-bit integers; null if there are
  /// none.
  const int64_t* getProfileTensorValuesV2(const char* tensorName, int32_t profileIndex,
                                          OptProfileSelector selector) const noexcept {
    return mImpl->getProfileTensorValuesV2(tensorName, profileIndex, selector);
  }

  /// One number about the engine; -1 if it is not known.
  int64_t getEngineStat(EngineStat stat) const noexcept { return mImpl->getEngineStat(stat); }

#if TENON_TRT_OLDER_NAMES
#include "tenon/compat8/ICudaEngine.inl"
#endif
 protected:
  apiv::VCudaEngine* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_ENGINE_H
