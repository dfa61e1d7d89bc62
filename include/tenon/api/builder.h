// The builder, which turns a network into a plan.
#ifndef TENON_API_BUILDER_H
#define TENON_API_BUILDER_H

#include "tenon/api/builder_config.h"
#include "tenon/extensions.h"

namespace nvinfer1 {

class IBuilder : public INoCopy {
 public:
  ~IBuilder() noexcept override = default;
  bool platformHasFastFp16() const noexcept { return mImpl->platformHasFastFp16(); }
  bool platformHasFastInt8() const noexcept { return mImpl->platformHasFastInt8(); }
  int32_t getMaxDLABatchSize() const noexcept { return mImpl->getMaxDLABatchSize(); }
  int32_t getNbDLACores() const noexcept { return mImpl->getNbDLACores(); }
  void setGpuAllocator(IGpuAllocator* allocator) noexcept { mImpl->setGpuAllocator(allocator); }
  IBuilderConfig* createBuilderConfig() noexcept { return mImpl->createBuilderConfig(); }
  IOptimizationProfile* createOptimizationProfile() noexcept {
    return mImpl->createOptimizationProfile();
  }
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }
  void reset() noexcept { mImpl->reset(); }
  bool platformHasTf32() const noexcept { return mImpl->platformHasTf32(); }
  IHostMemory* buildSerializedNetwork(INetworkDefinition& network,
                                      IBuilderConfig& config) noexcept {
    return mImpl->buildSerializedNetwork(network, config);
  }
  bool buildSerializedNetworkToStream(INetworkDefinition& network, IBuilderConfig& config,
                                      IStreamWriter& writer) noexcept {
    return mImpl->buildSerializedNetworkToStream(network, config, writer);
  }
  IHostMemory* buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config,
                                      IHostMemory*& kernelText) noexcept {
    return mImpl->buildSerializedNetworkWithKernelText(network, config, kernelText);
  }
  ICudaEngine* buildEngineWithConfig(INetworkDefinition& network, IBuilderConfig& config) noexcept {
    return mImpl->buildEngineWithConfig(network, config);
  }
  bool isNetworkSupported(const INetworkDefinition& network,
                          const IBuilderConfig& config) const noexcept {
    return mImpl->isNetworkSupported(network, config);
  }
  ILogger* getLogger() const noexcept { return mImpl->getLogger(); }
  bool setMaxThreads(int32_t maxThreads) noexcept { return mImpl->setMaxThreads(maxThreads); }
  int32_t getMaxThreads() const noexcept { return mImpl->getMaxThreads(); }
  IPluginRegistry& getPluginRegistry() noexcept { return mImpl->getPluginRegistry(); }

#include "tenon/compat8/IBuilder.inl"
 protected:
  apiv::VBuilder* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_BUILDER_H
