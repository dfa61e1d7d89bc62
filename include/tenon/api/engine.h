// Engines: what a plan becomes once it is opened.
#ifndef TENON_API_ENGINE_H
#define TENON_API_ENGINE_H

#include "tenon/api/profile.h"
#include "tenon/api/runtime.h"
#include "tenon/compat8/bindings.h"

namespace nvinfer1 {

enum class DeviceType : int32_t {
  kGPU = 0,
  kDLA = 1,
};

template <>
struct impl::EnumMaxImpl<DeviceType> {
  static constexpr int32_t kVALUE = 2;
};

enum class TensorIOMode : int32_t {
  kNONE = 0,
  kINPUT = 1,
  kOUTPUT = 2,
};

template <>
struct impl::EnumMaxImpl<TensorIOMode> {
  static constexpr int32_t kVALUE = 3;
};

enum class ProfilingVerbosity : int32_t {
  kLAYER_NAMES_ONLY = 0,
  kNONE = 1,
  kDETAILED = 2,

  // 8.x names.
  kDEFAULT = kLAYER_NAMES_ONLY,
  kVERBOSE = kDETAILED,
};

template <>
struct impl::EnumMaxImpl<ProfilingVerbosity> {
  static constexpr int32_t kVALUE = 3;
};

enum class TacticSource : int32_t {
  kCUBLAS = 0,
  kCUBLAS_LT = 1,
  kCUDNN = 2,
  kEDGE_MASK_CONVOLUTIONS = 3,
  kJIT_CONVOLUTIONS = 4,
};

template <>
struct impl::EnumMaxImpl<TacticSource> {
  static constexpr int32_t kVALUE = 5;
};

enum class SerializationFlag : int32_t {
  kEXCLUDE_WEIGHTS = 0,
  kEXCLUDE_LEAN_RUNTIME = 1,
  kINCLUDE_REFIT = 2,
};

template <>
struct impl::EnumMaxImpl<SerializationFlag> {
  static constexpr int32_t kVALUE = 3;
};

class ISerializationConfig : public INoCopy {
 public:
  ~ISerializationConfig() noexcept override = default;
  bool setFlags(SerializationFlags flags) noexcept { return mImpl->setFlags(flags); }
  SerializationFlags getFlags() const noexcept { return mImpl->getFlags(); }
  bool clearFlag(SerializationFlag flag) noexcept { return mImpl->clearFlag(flag); }
  bool setFlag(SerializationFlag flag) noexcept { return mImpl->setFlag(flag); }
  bool getFlag(SerializationFlag flag) const noexcept { return mImpl->getFlag(flag); }

 protected:
  apiv::VSerializationConfig* mImpl;
};

enum class ExecutionContextAllocationStrategy : int32_t {
  kSTATIC = 0,
  kON_PROFILE_CHANGE = 1,
  kUSER_MANAGED = 2,
};

template <>
struct impl::EnumMaxImpl<ExecutionContextAllocationStrategy> {
  static constexpr int32_t kVALUE = 3;
};

class IRuntimeConfig : public INoCopy {
 public:
  ~IRuntimeConfig() noexcept override = default;
  void setExecutionContextAllocationStrategy(ExecutionContextAllocationStrategy strategy) noexcept {
    mImpl->setExecutionContextAllocationStrategy(strategy);
  }
  ExecutionContextAllocationStrategy getExecutionContextAllocationStrategy() const noexcept {
    return mImpl->getExecutionContextAllocationStrategy();
  }

 protected:
  apiv::VRuntimeConfig* mImpl;
};

enum class EngineStat : int32_t {
  kTOTAL_WEIGHTS_SIZE = 0,
  kSTRIPPED_WEIGHTS_SIZE = 1,
};

template <>
struct impl::EnumMaxImpl<EngineStat> {
  static constexpr int32_t kVALUE = 2;
};

class ICudaEngine : public INoCopy {
 public:
  ~ICudaEngine() noexcept override = default;
  Dims getTensorShape(const char* tensorName) const noexcept {
    return mImpl->getTensorShape(tensorName);
  }
  DataType getTensorDataType(const char* tensorName) const noexcept {
    return mImpl->getTensorDataType(tensorName);
  }
  int32_t getNbLayers() const noexcept { return mImpl->getNbLayers(); }
  IHostMemory* serialize() const noexcept { return mImpl->serialize(); }
  IExecutionContext* createExecutionContext(
      ExecutionContextAllocationStrategy strategy =
          ExecutionContextAllocationStrategy::kSTATIC) noexcept {
    return mImpl->createExecutionContext(strategy);
  }
  TensorLocation getTensorLocation(const char* tensorName) const noexcept {
    return mImpl->getTensorLocation(tensorName);
  }
  bool isShapeInferenceIO(const char* tensorName) const noexcept {
    return mImpl->isShapeInferenceIO(tensorName);
  }
  TensorIOMode getTensorIOMode(const char* tensorName) const noexcept {
    return mImpl->getTensorIOMode(tensorName);
  }
  const char* getAliasedInputTensor(const char* tensorName) const noexcept {
    return mImpl->getAliasedInputTensor(tensorName);
  }
  IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept {
    return mImpl->createExecutionContextWithoutDeviceMemory();
  }
  IExecutionContext* createExecutionContext(IRuntimeConfig* runtimeConfig) noexcept {
    return mImpl->createExecutionContextWithRuntimeConfig(runtimeConfig);
  }
  IRuntimeConfig* createRuntimeConfig() noexcept { return mImpl->createRuntimeConfig(); }
  size_t getDeviceMemorySize() const noexcept { return mImpl->getDeviceMemorySize(); }
  size_t getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept {
    return mImpl->getDeviceMemorySizeForProfile(profileIndex);
  }
  int64_t getDeviceMemorySizeV2() const noexcept { return mImpl->getDeviceMemorySizeV2(); }
  int64_t getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept {
    return mImpl->getDeviceMemorySizeForProfileV2(profileIndex);
  }
  bool isRefittable() const noexcept { return mImpl->isRefittable(); }
  int32_t getTensorBytesPerComponent(const char* tensorName) const noexcept {
    return mImpl->getTensorBytesPerComponent(tensorName);
  }
  int32_t getTensorBytesPerComponent(const char* tensorName, int32_t profileIndex) const noexcept {
    return mImpl->getTensorBytesPerComponentV2(tensorName, profileIndex);
  }
  int32_t getTensorComponentsPerElement(const char* tensorName) const noexcept {
    return mImpl->getTensorComponentsPerElement(tensorName);
  }
  int32_t getTensorComponentsPerElement(const char* tensorName,
                                        int32_t profileIndex) const noexcept {
    return mImpl->getTensorComponentsPerElementV2(tensorName, profileIndex);
  }
  TensorFormat getTensorFormat(const char* tensorName) const noexcept {
    return mImpl->getTensorFormat(tensorName);
  }
  TensorFormat getTensorFormat(const char* tensorName, int32_t profileIndex) const noexcept {
    return mImpl->getTensorFormatV2(tensorName, profileIndex);
  }
  const char* getTensorFormatDesc(const char* tensorName) const noexcept {
    return mImpl->getTensorFormatDesc(tensorName);
  }
  const char* getTensorFormatDesc(const char* tensorName, int32_t profileIndex) const noexcept {
    return mImpl->getTensorFormatDescV2(tensorName, profileIndex);
  }
  int32_t getTensorVectorizedDim(const char* tensorName) const noexcept {
    return mImpl->getTensorVectorizedDim(tensorName);
  }
  int32_t getTensorVectorizedDim(const char* tensorName, int32_t profileIndex) const noexcept {
    return mImpl->getTensorVectorizedDimV2(tensorName, profileIndex);
  }
  const char* getName() const noexcept { return mImpl->getName(); }
  int32_t getNbOptimizationProfiles() const noexcept { return mImpl->getNbOptimizationProfiles(); }
  Dims getProfileShape(const char* tensorName, int32_t profileIndex,
                       OptProfileSelector selector) const noexcept {
    return mImpl->getProfileShape(tensorName, profileIndex, selector);
  }
  const int32_t* getProfileTensorValues(const char* tensorName, int32_t profileIndex,
                                        OptProfileSelector selector) const noexcept {
    return mImpl->getProfileTensorValues(tensorName, profileIndex, selector);
  }
  EngineCapability getEngineCapability() const noexcept { return mImpl->getEngineCapability(); }
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }
  bool hasImplicitBatchDimension() const noexcept { return mImpl->hasImplicitBatchDimension(); }
  TacticSources getTacticSources() const noexcept { return mImpl->getTacticSources(); }
  ProfilingVerbosity getProfilingVerbosity() const noexcept {
    return mImpl->getProfilingVerbosity();
  }
  IEngineInspector* createEngineInspector() const noexcept {
    return mImpl->createEngineInspector();
  }
  int32_t getNbIOTensors() const noexcept { return mImpl->getNbIOTensors(); }
  const char* getIOTensorName(int32_t index) const noexcept {
    return mImpl->getIOTensorName(index);
  }
  HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept {
    return mImpl->getHardwareCompatibilityLevel();
  }
  int32_t getNbAuxStreams() const noexcept { return mImpl->getNbAuxStreams(); }
  ISerializationConfig* createSerializationConfig() noexcept {
    return mImpl->createSerializationConfig();
  }
  IHostMemory* serializeWithConfig(ISerializationConfig& config) const noexcept {
    return mImpl->serializeWithConfig(config);
  }
  bool setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept {
    return mImpl->setWeightStreamingBudget(gpuMemoryBudget);
  }
  int64_t getWeightStreamingBudget() const noexcept { return mImpl->getWeightStreamingBudget(); }
  int64_t getMinimumWeightStreamingBudget() const noexcept {
    return mImpl->getMinimumWeightStreamingBudget();
  }
  int64_t getStreamableWeightsSize() const noexcept { return mImpl->getStreamableWeightsSize(); }
  bool setWeightStreamingBudgetV2(int64_t gpuMemoryBudget) noexcept {
    return mImpl->setWeightStreamingBudgetV2(gpuMemoryBudget);
  }
  int64_t getWeightStreamingBudgetV2() const noexcept {
    return mImpl->getWeightStreamingBudgetV2();
  }
  int64_t getWeightStreamingAutomaticBudget() const noexcept {
    return mImpl->getWeightStreamingAutomaticBudget();
  }
  int64_t getWeightStreamingScratchMemorySize() const noexcept {
    return mImpl->getWeightStreamingScratchMemorySize();
  }
  bool isDebugTensor(const char* name) const noexcept { return mImpl->isDebugTensor(name); }
  const int64_t* getProfileTensorValuesV2(const char* tensorName, int32_t profileIndex,
                                          OptProfileSelector selector) const noexcept {
    return mImpl->getProfileTensorValuesV2(tensorName, profileIndex, selector);
  }
  int64_t getEngineStat(EngineStat stat) const noexcept { return mImpl->getEngineStat(stat); }

#include "tenon/compat8/ICudaEngine.inl"
 protected:
  apiv::VCudaEngine* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_ENGINE_H
