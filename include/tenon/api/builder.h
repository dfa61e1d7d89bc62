// The builder, which turns a network into a plan.
#ifndef TENON_API_BUILDER_H
#define TENON_API_BUILDER_H

#include "tenon/api/builder_config.h"
#include "tenon/extensions.h"

namespace nvinfer1 {

/// Makes networks, configurations and engines. The caller deletes it, after what it made.
class IBuilder : public INoCopy {
 public:
  ~IBuilder() noexcept override = default;

  /// Whether the device computes in kHALF fast.
  TENON_REMOVED_IN_11 bool platformHasFastFp16() const noexcept {
    return mImpl->platformHasFastFp16();
  }

  /// Whether the device computes in kINT8 fast.
  TENON_REMOVED_IN_11 bool platformHasFastInt8() const noexcept {
    return mImpl->platformHasFastInt8();
  }

  /// The largest batch of DLA; 0 as there is none.
  int32_t getMaxDLABatchSize() const noexcept { return mImpl->getMaxDLABatchSize(); }

  /// The number of DLA cores, which is 0.
  int32_t getNbDLACores() const noexcept { return mImpl->getNbDLACores(); }

  /// Sets the allocator of builds from now on, not owned; null for the library's own.
  void setGpuAllocator(IGpuAllocator* allocator) noexcept { mImpl->setGpuAllocator(allocator); }

  /// Makes a configuration, which the caller deletes; null on failure.
  IBuilderConfig* createBuilderConfig() noexcept { return mImpl->createBuilderConfig(); }

  /// Makes a profile, which the builder owns.
  IOptimizationProfile* createOptimizationProfile() noexcept {
    return mImpl->createOptimizationProfile();
  }

  /// Sets where errors are recorded, instead of the one set before; null for none.
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }

  /// The recorder that was set; null if none.
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }

  /// Puts everything back to how it was at first.
  void reset() noexcept { mImpl->reset(); }

  /// Whether the device has kernels for kTF32.
  TENON_REMOVED_IN_11 bool platformHasTf32() const noexcept { return mImpl->platformHasTf32(); }

  /// Builds a plan, which the caller deletes; null, with the reason logged, on failure.
  IHostMemory* buildSerializedNetwork(INetworkDefinition& network,
                                      IBuilderConfig& config) noexcept {
    return mImpl->buildSerializedNetwork(network, config);
  }

  /// Builds a plan and writes it piece by piece; false on failure.
  bool buildSerializedNetworkToStream(INetworkDefinition& network, IBuilderConfig& config,
                                      IStreamWriter& writer) noexcept {
    return mImpl->buildSerializedNetworkToStream(network, config, writer);
  }

  /// Builds a plan and the text of its kernels, both of which the caller deletes; null on failure.
  IHostMemory* buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config,
                                      IHostMemory*& kernelText) noexcept {
    return mImpl->buildSerializedNetworkWithKernelText(network, config, kernelText);
  }

  /// Builds an engine, which the caller deletes; null on failure.
  ICudaEngine* buildEngineWithConfig(INetworkDefinition& network, IBuilderConfig& config) noexcept {
    return mImpl->buildEngineWithConfig(network, config);
  }

  /// Whether the network could be built as configured.
  bool isNetworkSupported(const INetworkDefinition& network,
                          const IBuilderConfig& config) const noexcept {
    return mImpl->isNetworkSupported(network, config);
  }

  /// The logger that the builder was created with.
  ILogger* getLogger() const noexcept { return mImpl->getLogger(); }

  /// Limits the threads that the library uses, the calling one included; false if it is less than
  /// 1.
  bool setMaxThreads(int32_t maxThreads) noexcept { return mImpl->setMaxThreads(maxThreads); }

  /// The limit of threads.
  int32_t getMaxThreads() const noexcept { return mImpl->getMaxThreads(); }

  /// The registry that plugins of the networks are looked up in first.
  IPluginRegistry& getPluginRegistry() noexcept { return mImpl->getPluginRegistry(); }

#if TENON_TRT_API == 8
  /// Makes a network, which the caller deletes before the builder; without the bit of
  /// kEXPLICIT_BATCH its batch is implicit. Null on failure.
  __attribute__((abi_tag("trt8"))) INetworkDefinition* createNetworkV2(
      NetworkDefinitionCreationFlags flags) noexcept {
    constexpr uint32_t kExplicit =
        1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kEXPLICIT_BATCH);
    return mImpl->createNetworkV2((flags & kExplicit) != 0 ? flags
                                                           : flags | tenon::kImplicitBatchFlag);
  }
#elif !TENON_TRT_OLDER_NAMES
  /// Makes a network, which the caller deletes before the builder; null on failure. `flags` has bit
  /// n for value n of NetworkDefinitionCreationFlag; kSTRONGLY_TYPED is always set.
  __attribute__((abi_tag("trt11"))) INetworkDefinition* createNetworkV2(
      NetworkDefinitionCreationFlags flags) noexcept {
    constexpr uint32_t kStronglyTyped =
        1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
    return mImpl->createNetworkV2(flags | kStronglyTyped);
  }
#else
  /// Makes a network, which the caller deletes before the builder; null on failure. `flags` has bit
  /// n for value n of NetworkDefinitionCreationFlag.
  INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept {
    return mImpl->createNetworkV2(flags);
  }
#endif

#if TENON_TRT_OLDER_NAMES
#include "tenon/compat8/IBuilder.inl"
#endif
 protected:
  apiv::VBuilder* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_BUILDER_H
