/// IPluginV3 and its creator, from a plugin struct.
#pragma once

#include "tenon/plugin/adapter.h"

#if !defined(__CUDACC__)
namespace tenon {
namespace kit {

// It does not override getInterfaceInfo(): each of its bases has to answer for itself.
template <class P>
class PluginV3 final : public nvinfer1::IPluginV3,
                       public nvinfer1::IPluginV3OneCore,
                       public nvinfer1::IPluginV3OneBuild,
                       public nvinfer1::IPluginV3OneRuntime,
                       public Adapted<P, PluginV3<P>, nvinfer1::IPluginV3> {
  using Base = Adapted<P, PluginV3, nvinfer1::IPluginV3>;
  using Base::plugin_;

 public:
  explicit PluginV3(P plugin) : Base(std::move(plugin)) { this->offer_cpu_kernel(this); }
  PluginV3(const PluginV3&) = delete;
  PluginV3& operator=(const PluginV3&) = delete;
  ~PluginV3() override { this->withdraw_cpu_kernel(this); }

  nvinfer1::IPluginCapability* getCapabilityInterface(
      nvinfer1::PluginCapabilityType type) noexcept override {
    switch (type) {
      case nvinfer1::PluginCapabilityType::kCORE:
        return static_cast<IPluginV3OneCore*>(this);
      case nvinfer1::PluginCapabilityType::kBUILD:
        return static_cast<IPluginV3OneBuild*>(this);
      case nvinfer1::PluginCapabilityType::kRUNTIME:
        return static_cast<IPluginV3OneRuntime*>(this);
    }
    return nullptr;
  }
  PluginV3* clone() noexcept override {
    PluginV3* copy = nullptr;
    guard<P>([&] { copy = new PluginV3(plugin_); });
    return copy;
  }
  nvinfer1::IPluginV3* attachToContext(nvinfer1::IPluginResourceContext*) noexcept override {
    return clone();
  }

  const char* getPluginName() const noexcept override { return P::spec.name; }
  const char* getPluginVersion() const noexcept override { return P::spec.version; }
  const char* getPluginNamespace() const noexcept override { return P::spec.name_space; }

  int32_t getNbOutputs() const noexcept override { return P::spec.outputs.count; }
  int32_t configurePlugin(const nvinfer1::DynamicPluginTensorDesc*, int32_t,
                          const nvinfer1::DynamicPluginTensorDesc*, int32_t) noexcept override {
    return 0;
  }
  int32_t onShapeChange(const PluginTensorDesc* inputs, int32_t, const PluginTensorDesc*,
                        int32_t) noexcept override {
    return guard<P>([&] { check_inputs(plugin_, inputs); });
  }
  bool supportsFormatCombination(int32_t position, const nvinfer1::DynamicPluginTensorDesc* all,
                                 int32_t inputs, int32_t outputs) noexcept override {
    return accepts<P>(position, inputs, outputs,
                      [&](int i) -> const PluginTensorDesc& { return all[i].desc; });
  }
  int32_t getOutputDataTypes(DataType* types, int32_t count, const DataType* inputs,
                             int32_t input_count) const noexcept override {
    if (count != P::spec.outputs.count || input_count != P::spec.inputs.count) return 1;
    for (int i = 0; i < count; ++i) types[i] = output_type<P>(i, inputs);
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* inputs, int32_t input_count, const DimsExprs*, int32_t,
                          DimsExprs* outputs, int32_t output_count,
                          nvinfer1::IExprBuilder& builder) noexcept override {
    if (output_count != P::spec.outputs.count) return 1;
    return guard<P>([&] { output_shapes(plugin_, inputs, input_count, outputs, builder); });
  }
  size_t getWorkspaceSize(const nvinfer1::DynamicPluginTensorDesc* inputs, int32_t,
                          const nvinfer1::DynamicPluginTensorDesc* outputs,
                          int32_t) const noexcept override {
    size_t bytes = 0;
    guard<P>([&] {
      std::array<PluginTensorDesc, P::spec.inputs.count> in;
      std::array<PluginTensorDesc, P::spec.outputs.count> out;
      for (size_t i = 0; i < in.size(); ++i) (in[i] = inputs[i].desc).dims = inputs[i].max;
      for (size_t i = 0; i < out.size(); ++i) (out[i] = outputs[i].desc).dims = outputs[i].max;
      bytes = workspace_bytes(plugin_, in.data(), out.data());
    });
    return bytes;
  }
  int32_t enqueue(const PluginTensorDesc* inputs, const PluginTensorDesc* outputs,
                  const void* const* input_data, void* const* output_data, void* workspace,
                  cudaStream_t stream) noexcept override {
    return this->run_on_cuda(inputs, outputs, input_data, output_data, workspace, stream);
  }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    guard<P>([&] { stored_ = StoredAttributes(plugin_); });
    return stored_.collection();
  }

 private:
  StoredAttributes stored_;
};

template <class P> class CreatorV3 final : public nvinfer1::IPluginCreatorV3One {
 public:
  nvinfer1::IPluginV3* createPlugin(const char*, const PluginFieldCollection* fields,
                                    nvinfer1::TensorRTPhase) noexcept override {
    nvinfer1::IPluginV3* plugin = nullptr;
    guard<P>([&] { plugin = new PluginV3<P>(parse<P>(fields)); });
    return plugin;
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return &collection_; }
  const char* getPluginName() const noexcept override { return P::spec.name; }
  const char* getPluginVersion() const noexcept override { return P::spec.version; }
  const char* getPluginNamespace() const noexcept override { return P::spec.name_space; }

 private:
  std::vector<PluginField> fields_ = declared_fields<P>();
  PluginFieldCollection collection_{static_cast<int32_t>(fields_.size()), fields_.data()};
};

}  // namespace kit
}  // namespace tenon
#endif
