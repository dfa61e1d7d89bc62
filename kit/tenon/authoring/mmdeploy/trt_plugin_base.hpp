/// The base classes of MMDeploy's plugins: what is the same in all of them.
///
/// A plugin derives from TRTPluginBase and writes clone, getOutputDimensions, getOutputDataType,
/// supportsFormatCombination, enqueue, getPluginType, getNbOutputs, getSerializationSize and
/// serialize; its creator derives from TRTPluginCreatorBase, fills mPluginAttributes and lets mFC
/// point there. REGISTER_TENSORRT_PLUGIN(Creator) makes it known.
#pragma once

#include <NvInferRuntime.h>
#include <NvInferVersion.h>

#include <memory>
#include <string>
#include <vector>

#include "trt_plugin_helper.hpp"

#define TRT_NOEXCEPT noexcept

namespace mmdeploy {

class TRTPluginBase : public nvinfer1::IPluginV2DynamicExt {
 public:
  TRTPluginBase(const std::string& name) : mLayerName(name) {}  // NOLINT: implicit, as in MMDeploy

  const char* getPluginVersion() const noexcept override { return "1"; }
  int32_t initialize() noexcept override { return STATUS_SUCCESS; }
  void terminate() noexcept override {}
  void destroy() noexcept override { delete this; }
  void setPluginNamespace(const char* name) noexcept override {
    mNamespace = name == nullptr ? "" : name;
  }
  const char* getPluginNamespace() const noexcept override { return mNamespace.c_str(); }
  void configurePlugin(const nvinfer1::DynamicPluginTensorDesc*, int32_t,
                       const nvinfer1::DynamicPluginTensorDesc*, int32_t) noexcept override {}
  size_t getWorkspaceSize(const nvinfer1::PluginTensorDesc*, int32_t,
                          const nvinfer1::PluginTensorDesc*, int32_t) const noexcept override {
    return 0;
  }
  void attachToContext(cudnnContext*, cublasContext*, nvinfer1::IGpuAllocator*) noexcept override {}
  void detachFromContext() noexcept override {}

 protected:
  const std::string mLayerName;
  std::string mNamespace;
};

class TRTPluginCreatorBase : public nvinfer1::IPluginCreator {
 public:
  const char* getPluginVersion() const noexcept override { return "1"; }
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return &mFC; }
  void setPluginNamespace(const char* name) noexcept override {
    mNamespace = name == nullptr ? "" : name;
  }
  const char* getPluginNamespace() const noexcept override { return mNamespace.c_str(); }

 protected:
  nvinfer1::PluginFieldCollection mFC{};
  std::vector<nvinfer1::PluginField> mPluginAttributes;
  std::string mNamespace;
};

}  // namespace mmdeploy
