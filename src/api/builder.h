// IBuilder: makes networks, profiles and configurations, and builds engines.
#pragma once

#include <NvInfer.h>

#include <deque>
#include <memory>

#include "api/guard.h"
#include "api/live.h"
#include "api/optimization_profile.h"
#include "plan/plan.h"

namespace tenon {

class Builder final : public nvinfer1::IBuilder,
                      public nvinfer1::apiv::VBuilder,
                      public Live<Builder, nvinfer1::IBuilder> {
 public:
  explicit Builder(nvinfer1::ILogger& logger);

  bool platformHasFastFp16() const noexcept override { return false; }
  bool platformHasFastInt8() const noexcept override { return false; }
  int32_t getMaxDLABatchSize() const noexcept override { return 0; }
  int32_t getNbDLACores() const noexcept override { return 0; }
  void setGpuAllocator(nvinfer1::IGpuAllocator* allocator) noexcept override {
    allocator_ = allocator;
  }
  nvinfer1::IBuilderConfig* createBuilderConfig() noexcept override;
  nvinfer1::INetworkDefinition* createNetworkV2(
      nvinfer1::NetworkDefinitionCreationFlags flags) noexcept override;
  nvinfer1::IOptimizationProfile* createOptimizationProfile() noexcept override;
  void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override {
    reporter_.set_recorder(recorder);
  }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override {
    return reporter_.recorder();
  }
  void reset() noexcept override;
  bool platformHasTf32() const noexcept override;
  nvinfer1::IHostMemory* buildSerializedNetwork(nvinfer1::INetworkDefinition& network,
                                                nvinfer1::IBuilderConfig& config) noexcept override;
  bool isNetworkSupported(const nvinfer1::INetworkDefinition& network,
                          const nvinfer1::IBuilderConfig& config) const noexcept override;
  nvinfer1::ILogger* getLogger() const noexcept override { return reporter_.logger(); }
  bool setMaxThreads(int32_t maxThreads) noexcept override;
  int32_t getMaxThreads() const noexcept override;
  nvinfer1::IPluginRegistry& getPluginRegistry() noexcept override;
  nvinfer1::ICudaEngine* buildEngineWithConfig(nvinfer1::INetworkDefinition& network,
                                               nvinfer1::IBuilderConfig& config) noexcept override;
  bool buildSerializedNetworkToStream(nvinfer1::INetworkDefinition& network,
                                      nvinfer1::IBuilderConfig& config,
                                      nvinfer1::IStreamWriter& writer) noexcept override;
  nvinfer1::IHostMemory* buildSerializedNetworkWithKernelText(
      nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config,
      nvinfer1::IHostMemory*& kernelText) noexcept override;

  /// 8.x: of networks with an implicit batch.
  int32_t max_batch_size = 1;

 private:
  Plan plan_of(const nvinfer1::INetworkDefinition& network,
               const nvinfer1::IBuilderConfig& config) const;

  Reporter reporter_;
  nvinfer1::IGpuAllocator* allocator_ = nullptr;
  std::deque<OptimizationProfile> profiles_;
};

}  // namespace tenon
