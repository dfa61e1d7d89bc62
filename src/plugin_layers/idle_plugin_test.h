// A plugin that does nothing: the plainest that IPluginV2DynamicExt allows.
#pragma once

#include <NvInferRuntime.h>

namespace tenon::testing {

/// Its output has the type and shape of its first input, and is not written. Tests override what
/// they are about.
class IdlePlugin : public nvinfer1::IPluginV2DynamicExt {
 public:
  const char* getPluginType() const noexcept override { return "Idle"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override { return 0; }
  void serialize(void*) const noexcept override {}
  void destroy() noexcept override { delete this; }
  IdlePlugin* clone() const noexcept override { return new IdlePlugin(*this); }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }
  nvinfer1::DataType getOutputDataType(int32_t, const nvinfer1::DataType* types,
                                       int32_t) const noexcept override {
    return types[0];
  }
  nvinfer1::DimsExprs getOutputDimensions(int32_t, const nvinfer1::DimsExprs* in, int32_t,
                                          nvinfer1::IExprBuilder&) noexcept override {
    return in[0];
  }
  bool supportsFormatCombination(int32_t, const nvinfer1::PluginTensorDesc*, int32_t,
                                 int32_t) noexcept override {
    return true;
  }
  void configurePlugin(const nvinfer1::DynamicPluginTensorDesc*, int32_t,
                       const nvinfer1::DynamicPluginTensorDesc*, int32_t) noexcept override {}
  size_t getWorkspaceSize(const nvinfer1::PluginTensorDesc*, int32_t,
                          const nvinfer1::PluginTensorDesc*, int32_t) const noexcept override {
    return 0;
  }
  int32_t enqueue(const nvinfer1::PluginTensorDesc*, const nvinfer1::PluginTensorDesc*,
                  const void* const*, void* const*, void*, cudaStream_t) noexcept override {
    return 0;
  }
};

}  // namespace tenon::testing
