// Plugins of version 2 and their creators.
#ifndef NV_INFER_RUNTIME_PLUGIN_H
#define NV_INFER_RUNTIME_PLUGIN_H

#include "NvInferPluginBase.h"
#include "tenon/api/forward.h"

struct cudnnContext;
struct cublasContext;

namespace nvinfer1 {

enum class TensorFormat : int32_t {
  kLINEAR = 0,
  kCHW2 = 1,
  kHWC8 = 2,
  kCHW4 = 3,
  kCHW16 = 4,
  kCHW32 = 5,
  kDHWC8 = 6,
  kCDHW32 = 7,
  kHWC = 8,
  kDLA_LINEAR = 9,
  kDLA_HWC4 = 10,
  kHWC16 = 11,
  kDHWC = 12,
};

template <>
struct impl::EnumMaxImpl<TensorFormat> {
  static constexpr int32_t kVALUE = 13;
};

using PluginFormat = TensorFormat;

struct PluginTensorDesc {
  Dims dims;
  DataType type;
  TensorFormat format;
  float scale;
};

enum class PluginVersion : uint8_t {
  kV2 = 0,
  kV2_EXT = 1,
  kV2_IOEXT = 2,
  kV2_DYNAMICEXT = 3,
  kV2_DYNAMICEXT_PYTHON = 67,
};

enum class PluginCreatorVersion : int32_t {
  kV1 = 0,
  kV1_PYTHON = 64,
};

namespace impl {
// The kind in the top byte tells the library which of the classes below a plugin derives from.
constexpr int32_t pluginVersion(PluginVersion kind) {
  return static_cast<int32_t>(static_cast<uint32_t>(kind) << 24 |
                              (TENON_TRT_ABI_VERSION & 0xFFFFFF));
}
}  // namespace impl

class IPluginV2 {
 public:
  virtual int32_t getTensorRTVersion() const noexcept { return TENON_TRT_ABI_VERSION; }
  virtual const AsciiChar* getPluginType() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  virtual int32_t getNbOutputs() const noexcept = 0;
  virtual Dims getOutputDimensions(int32_t index, const Dims* inputs,
                                   int32_t nbInputDims) noexcept = 0;
  virtual bool supportsFormat(DataType type, PluginFormat format) const noexcept = 0;
  virtual void configureWithFormat(const Dims* inputDims, int32_t nbInputs, const Dims* outputDims,
                                   int32_t nbOutputs, DataType type, PluginFormat format,
                                   int32_t maxBatchSize) noexcept = 0;
  virtual int32_t initialize() noexcept = 0;
  virtual void terminate() noexcept = 0;
  virtual size_t getWorkspaceSize(int32_t maxBatchSize) const noexcept = 0;
  virtual int32_t enqueue(int32_t batchSize, const void* const* inputs, void* const* outputs,
                          void* workspace, cudaStream_t stream) noexcept = 0;
  virtual size_t getSerializationSize() const noexcept = 0;
  virtual void serialize(void* buffer) const noexcept = 0;
  virtual void destroy() noexcept = 0;
  virtual IPluginV2* clone() const noexcept = 0;
  virtual void setPluginNamespace(const AsciiChar* pluginNamespace) noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
  virtual ~IPluginV2() noexcept = default;
};

class IPluginV2Ext : public IPluginV2 {
 public:
  virtual DataType getOutputDataType(int32_t index, const DataType* inputTypes,
                                     int32_t nbInputs) const noexcept = 0;
  virtual bool isOutputBroadcastAcrossBatch(int32_t outputIndex, const bool* inputIsBroadcasted,
                                            int32_t nbInputs) const noexcept = 0;
  virtual bool canBroadcastInputAcrossBatch(int32_t inputIndex) const noexcept = 0;
  virtual void configurePlugin(const Dims* inputDims, int32_t nbInputs, const Dims* outputDims,
                               int32_t nbOutputs, const DataType* inputTypes,
                               const DataType* outputTypes, const bool* inputIsBroadcast,
                               const bool* outputIsBroadcast, PluginFormat floatFormat,
                               int32_t maxBatchSize) noexcept = 0;
  ~IPluginV2Ext() noexcept override = default;
  virtual void attachToContext(cudnnContext* /*cudnn*/, cublasContext* /*cublas*/,
                               IGpuAllocator* /*allocator*/) noexcept {}
  virtual void detachFromContext() noexcept {}
  IPluginV2Ext* clone() const noexcept override = 0;

 protected:
  int32_t getTensorRTVersion() const noexcept override {
    return impl::pluginVersion(PluginVersion::kV2_EXT);
  }
  void configureWithFormat(const Dims*, int32_t, const Dims*, int32_t, DataType, PluginFormat,
                           int32_t) noexcept override {}
};

class IPluginV2IOExt : public IPluginV2Ext {
 public:
  virtual void configurePlugin(const PluginTensorDesc* inputs, int32_t nbInputs,
                               const PluginTensorDesc* outputs, int32_t nbOutputs) noexcept = 0;
  virtual bool supportsFormatCombination(int32_t position, const PluginTensorDesc* inOut,
                                         int32_t nbInputs, int32_t nbOutputs) const noexcept = 0;
  ~IPluginV2IOExt() noexcept override = default;

 protected:
  int32_t getTensorRTVersion() const noexcept override {
    return impl::pluginVersion(PluginVersion::kV2_IOEXT);
  }
  void configurePlugin(const Dims*, int32_t, const Dims*, int32_t, const DataType*, const DataType*,
                       const bool*, const bool*, PluginFormat, int32_t) noexcept override {}
  bool supportsFormat(DataType, PluginFormat) const noexcept override { return false; }
};

namespace v_1_0 {
class IPluginCreator : public IPluginCreatorInterface {
 public:
  virtual const AsciiChar* getPluginName() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  virtual const PluginFieldCollection* getFieldNames() noexcept = 0;
  virtual IPluginV2* createPlugin(const AsciiChar* name,
                                  const PluginFieldCollection* fields) noexcept = 0;
  virtual IPluginV2* deserializePlugin(const AsciiChar* name, const void* serialData,
                                       size_t serialLength) noexcept = 0;
  virtual void setPluginNamespace(const AsciiChar* pluginNamespace) noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
  ~IPluginCreator() noexcept override = default;
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"PLUGIN CREATOR_V1", 1, 0}; }

#include "tenon/compat8/IPluginCreator.inl"
};
}  // namespace v_1_0

}  // namespace nvinfer1

#endif  // NV_INFER_RUNTIME_PLUGIN_H
