// The plugin AddLayerNorm for TensorRT 10: what lies around the kernel.
#include <NvInferRuntime.h>

#include <cstring>

#include "add_layer_norm.h"

namespace {

using namespace nvinfer1;  // NOLINT: the file is all about it

enum Tensor { kX, kResidual, kScale, kBias, kInputs, kY = kInputs, kTensors };

// Inputs: x (..., n), residual (..., n), scale (n), bias (n). Output: as x.
class Plugin final : public IPluginV3,
                     public IPluginV3OneCore,
                     public IPluginV3OneBuild,
                     public IPluginV3OneRuntime {
 public:
  explicit Plugin(float epsilon) : epsilon_(epsilon) {}

  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    switch (type) {
      case PluginCapabilityType::kCORE:
        return static_cast<IPluginV3OneCore*>(this);
      case PluginCapabilityType::kBUILD:
        return static_cast<IPluginV3OneBuild*>(this);
      case PluginCapabilityType::kRUNTIME:
        return static_cast<IPluginV3OneRuntime*>(this);
    }
    return nullptr;
  }
  IPluginV3* clone() noexcept override { return new Plugin(epsilon_); }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override { return clone(); }

  const char* getPluginName() const noexcept override { return "AddLayerNorm"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return ""; }

  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t getOutputDataTypes(DataType* outputs, int32_t, const DataType* inputs,
                             int32_t) const noexcept override {
    outputs[0] = inputs[kX];
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* inputs, int32_t, const DimsExprs*, int32_t,
                          DimsExprs* outputs, int32_t, IExprBuilder&) noexcept override {
    outputs[0] = inputs[kX];
    return 0;
  }
  bool supportsFormatCombination(int32_t position, const DynamicPluginTensorDesc* tensors,
                                 int32_t inputs, int32_t outputs) noexcept override {
    const PluginTensorDesc& tensor = tensors[position].desc;
    if (inputs != kInputs || outputs != 1 || tensor.format != TensorFormat::kLINEAR) return false;
    if (position != kX) return tensor.type == tensors[kX].desc.type;
    return tensor.type == DataType::kFLOAT || tensor.type == DataType::kHALF;
  }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }
  // 0 for shapes that the kernel can take.
  int32_t onShapeChange(const PluginTensorDesc* inputs, int32_t, const PluginTensorDesc*,
                        int32_t) noexcept override {
    const Dims &x = inputs[kX].dims, &residual = inputs[kResidual].dims;
    if (x.nbDims == 0 || x.nbDims != residual.nbDims) return 1;
    for (int i = 0; i < x.nbDims; ++i)
      if (x.d[i] != residual.d[i]) return 1;
    for (const Tensor vector : {kScale, kBias}) {
      const Dims& dims = inputs[vector].dims;
      if (dims.nbDims != 1 || dims.d[0] != x.d[x.nbDims - 1]) return 1;
    }
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* inputs, const PluginTensorDesc*, const void* const* in,
                  void* const* out, void*, cudaStream_t stream) noexcept override {
    if (onShapeChange(inputs, kInputs, nullptr, 1) != 0) return 1;
    const bool is_half = inputs[kX].type == DataType::kHALF;
    return is_half ? run<__half>(inputs[kX].dims, in, out, stream)
                   : run<float>(inputs[kX].dims, in, out, stream);
  }

  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    field_ = {"epsilon", &epsilon_, PluginFieldType::kFLOAT32, 1};
    fields_ = {1, &field_};
    return &fields_;
  }

 private:
  template <class T>
  int32_t run(const Dims& dims, const void* const* in, void* const* out, cudaStream_t stream) {
    AddLayerNorm<T> work{};
    work.x = static_cast<const T*>(in[kX]);
    work.residual = static_cast<const T*>(in[kResidual]);
    work.scale = static_cast<const T*>(in[kScale]);
    work.bias = static_cast<const T*>(in[kBias]);
    work.y = static_cast<T*>(out[0]);
    work.rows = 1;
    for (int i = 0; i + 1 < dims.nbDims; ++i) work.rows *= dims.d[i];
    work.length = static_cast<int>(dims.d[dims.nbDims - 1]);
    work.epsilon = epsilon_;
    return launch(work, stream) == cudaSuccess ? 0 : 1;
  }

  float epsilon_;
  PluginField field_;
  PluginFieldCollection fields_{};
};

class Creator final : public IPluginCreatorV3One {
 public:
  IPluginV3* createPlugin(const char*, const PluginFieldCollection* fields,
                          TensorRTPhase) noexcept override {
    float epsilon = 1e-5f;
    for (int i = 0; i < fields->nbFields; ++i) {
      const PluginField& field = fields->fields[i];
      if (std::strcmp(field.name, "epsilon") != 0) continue;
      if (field.type != PluginFieldType::kFLOAT32 || field.length != 1 || field.data == nullptr)
        return nullptr;
      epsilon = *static_cast<const float*>(field.data);
    }
    return new Plugin(epsilon);
  }
  const PluginFieldCollection* getFieldNames() noexcept override {
    static const PluginField epsilon{"epsilon", nullptr, PluginFieldType::kFLOAT32, 1};
    static const PluginFieldCollection fields{1, &epsilon};
    return &fields;
  }
  const char* getPluginName() const noexcept override { return "AddLayerNorm"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
};

}  // namespace

// What TensorRT looks for in a library of plugins.
extern "C" TENSORRTAPI IPluginCreatorInterface* const* getCreators(int32_t& count) {
  static Creator creator;
  static IPluginCreatorInterface* const creators[] = {&creator};
  count = 1;
  return creators;
}
extern "C" TENSORRTAPI void setLoggerFinder(ILoggerFinder*) {}
