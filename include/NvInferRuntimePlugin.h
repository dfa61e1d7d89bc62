// Plugins of version 2 and their creators.
#ifndef NV_INFER_RUNTIME_PLUGIN_H
#define NV_INFER_RUNTIME_PLUGIN_H

#include "NvInferPluginBase.h"
#include "tenon/api/forward.h"

struct cudnnContext;
struct cublasContext;

namespace nvinfer1 {

/// How elements lie in memory. The dimensions named are the last ones of the shape; CHW4 and its
/// like pack that many channels into one vector.
enum class TensorFormat : int32_t {
  kLINEAR = 0,      ///< Row-major, the last dimension contiguous.
  kCHW2 = 1,        ///< Pairs of channels; for 16-bit types.
  kHWC8 = 2,        ///< Channels last, their number padded to a multiple of 8.
  kCHW4 = 3,        ///< Four channels to a vector.
  kCHW16 = 4,       ///< Sixteen channels to a vector.
  kCHW32 = 5,       ///< Thirty-two channels to a vector.
  kDHWC8 = 6,       ///< Like kHWC8, with a depth.
  kCDHW32 = 7,      ///< Like kCHW32, with a depth.
  kHWC = 8,         ///< Channels last.
  kDLA_LINEAR = 9,  ///< Planes as DLA reads them.
  kDLA_HWC4 = 10,   ///< Four channels to a vector as DLA reads them.
  kHWC16 = 11,      ///< Channels last, their number padded to a multiple of 16.
  kDHWC = 12,       ///< Channels last, with a depth.
};

template <> struct impl::EnumMaxImpl<TensorFormat> {
  static constexpr int32_t kVALUE = 13;
};

/// The name of TensorFormat in plugins.
using PluginFormat = TensorFormat;

/// What a plugin is told about one of its tensors.
struct PluginTensorDesc {
  Dims dims;            ///< The shape.
  DataType type;        ///< The type of the elements.
  TensorFormat format;  ///< How the elements lie in memory.
  float scale;          ///< The value of one step of an INT8 tensor.
};

/// Which class a plugin of version 2 derives from.
enum class PluginVersion : uint8_t {
  kV2 = 0,
  kV2_EXT = 1,
  kV2_IOEXT = 2,
  kV2_DYNAMICEXT = 3,
  kV2_DYNAMICEXT_PYTHON = 67,
};

/// The language a creator is written in.
enum class PluginCreatorVersion : int32_t {
  kV1 = 0,
  kV1_PYTHON = 64,
};

namespace impl {
// The kind in the top byte tells the library which of the classes below a plugin derives from.
constexpr int32_t pluginVersion(PluginVersion kind) {
  return static_cast<int32_t>(static_cast<uint32_t>(kind) << 24
                              | (TENON_TRT_ABI_VERSION & 0xFFFFFF));
}
}  // namespace impl

/// A plugin of version 2, the oldest kind. Networks take the classes derived from it.
class IPluginV2 {
 public:
  /// The version of the headers the plugin was compiled with, and its kind in the top byte. Leave
  /// it alone.
  virtual int32_t getTensorRTVersion() const noexcept { return TENON_TRT_ABI_VERSION; }

  /// The name the plugin is registered under; it equals its creator's getPluginName().
  virtual const AsciiChar* getPluginType() const noexcept = 0;

  /// The version the plugin is registered under.
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;

  /// The number of outputs.
  virtual int32_t getNbOutputs() const noexcept = 0;

  /// The shape of output `index`, without the batch, for inputs of these shapes.
  virtual Dims getOutputDimensions(int32_t index, const Dims* inputs,
                                   int32_t nbInputDims) noexcept = 0;

  /// Whether all tensors may have this type and format.
  virtual bool supportsFormat(DataType type, PluginFormat format) const noexcept = 0;

  /// Tells the shapes, the type and the format chosen.
  virtual void configureWithFormat(const Dims* inputDims, int32_t nbInputs, const Dims* outputDims,
                                   int32_t nbOutputs, DataType type, PluginFormat format,
                                   int32_t maxBatchSize) noexcept = 0;

  /// Prepares to run; 0 on success. Called before the first enqueue().
  virtual int32_t initialize() noexcept = 0;

  /// Undoes initialize().
  virtual void terminate() noexcept = 0;

  /// The scratch memory needed in bytes for batches of up to `maxBatchSize`.
  virtual size_t getWorkspaceSize(int32_t maxBatchSize) const noexcept = 0;

  /// Runs the plugin on `stream`; 0 on success.
  virtual int32_t enqueue(int32_t batchSize, const void* const* inputs, void* const* outputs,
                          void* workspace, cudaStream_t stream) noexcept = 0;

  /// How many bytes serialize() writes.
  virtual size_t getSerializationSize() const noexcept = 0;

  /// Writes the state to `buffer`, which the creator's deserializePlugin() reads.
  virtual void serialize(void* buffer) const noexcept = 0;

  /// Deletes the plugin.
  virtual void destroy() noexcept = 0;

  /// A copy with all its state, which the caller destroys; null on failure.
  virtual IPluginV2* clone() const noexcept = 0;

  /// Sets the namespace of the creator; the text is to be copied.
  virtual void setPluginNamespace(const AsciiChar* pluginNamespace) noexcept = 0;

  /// The namespace that was set.
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
  virtual ~IPluginV2() noexcept = default;
};

/// A plugin that knows the types of its outputs.
class IPluginV2Ext : public IPluginV2 {
 public:
  /// The type of output `index` for inputs of these types.
  virtual DataType getOutputDataType(int32_t index, const DataType* inputTypes,
                                     int32_t nbInputs) const noexcept = 0;

  /// Whether all items of an implicit batch share this output.
  virtual bool isOutputBroadcastAcrossBatch(int32_t /*outputIndex*/,
                                            const bool* /*inputIsBroadcasted*/,
                                            int32_t /*nbInputs*/) const noexcept {
    return false;
  }

  /// Whether this input may be one for all items of an implicit batch.
  virtual bool canBroadcastInputAcrossBatch(int32_t /*inputIndex*/) const noexcept { return false; }

  /// Tells the shapes, types and format chosen.
  virtual void configurePlugin(const Dims* inputDims, int32_t nbInputs, const Dims* outputDims,
                               int32_t nbOutputs, const DataType* inputTypes,
                               const DataType* outputTypes, const bool* inputIsBroadcast,
                               const bool* outputIsBroadcast, PluginFormat floatFormat,
                               int32_t maxBatchSize) noexcept = 0;
  ~IPluginV2Ext() noexcept override = default;

  /// Called when a context starts to use the plugin; `cudnn` and `cublas` are null.
  virtual void attachToContext(cudnnContext* /*cudnn*/, cublasContext* /*cublas*/,
                               IGpuAllocator* /*allocator*/) noexcept {}

  /// Called when the context goes.
  virtual void detachFromContext() noexcept {}

  /// A copy with all its state, which the caller destroys; null on failure.
  IPluginV2Ext* clone() const noexcept override = 0;

 protected:
  int32_t getTensorRTVersion() const noexcept override {
    return impl::pluginVersion(PluginVersion::kV2_EXT);
  }
  void configureWithFormat(const Dims*, int32_t, const Dims*, int32_t, DataType, PluginFormat,
                           int32_t) noexcept override {}
};

/// A plugin whose tensors may differ in type and format.
class IPluginV2IOExt : public IPluginV2Ext {
 public:
  /// Tells the description chosen of each tensor.
  virtual void configurePlugin(const PluginTensorDesc* inputs, int32_t nbInputs,
                               const PluginTensorDesc* outputs, int32_t nbOutputs) noexcept = 0;

  /// Whether tensor `position` of inputs and outputs may have its type and format, given those of
  /// the tensors before it.
  virtual bool supportsFormatCombination(int32_t position, const PluginTensorDesc* inOut,
                                         int32_t nbInputs, int32_t nbOutputs) const noexcept = 0;
  ~IPluginV2IOExt() noexcept override = default;

 protected:
  int32_t getTensorRTVersion() const noexcept override {
    return impl::pluginVersion(PluginVersion::kV2_IOEXT);
  }

  // The questions of the base classes, which the methods above have replaced.
  void configurePlugin(const Dims*, int32_t, const Dims*, int32_t, const DataType*, const DataType*,
                       const bool*, const bool*, PluginFormat, int32_t) noexcept override {}
  bool supportsFormat(DataType, PluginFormat) const noexcept override { return false; }
};

namespace v_1_0 {
/// Creates plugins of version 2. The registry points at it: it lives as long as the process or
/// until it is deregistered.
class IPluginCreator : public IPluginCreatorInterface {
 public:
  /// The name of the plugins it makes.
  virtual const AsciiChar* getPluginName() const noexcept = 0;

  /// The version of the plugins it makes.
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;

  /// The attributes it takes, owned by the creator.
  virtual const PluginFieldCollection* getFieldNames() noexcept = 0;

  /// Makes a plugin named `name` from attributes; null on failure. The caller destroys it.
  virtual IPluginV2* createPlugin(const AsciiChar* name,
                                  const PluginFieldCollection* fields) noexcept = 0;

  /// Makes a plugin from what serialize() wrote; null on failure. The caller destroys it.
  virtual IPluginV2* deserializePlugin(const AsciiChar* name, const void* serialData,
                                       size_t serialLength) noexcept = 0;

  /// Sets the namespace of the plugins it makes; the text is to be copied.
  virtual void setPluginNamespace(const AsciiChar* pluginNamespace) noexcept = 0;

  /// The namespace that was set.
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
  ~IPluginCreator() noexcept override = default;
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"PLUGIN CREATOR_V1", 1, 0}; }

#include "tenon/compat8/IPluginCreator.inl"
};
}  // namespace v_1_0

}  // namespace nvinfer1

#endif  // NV_INFER_RUNTIME_PLUGIN_H
