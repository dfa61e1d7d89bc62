/// IPluginV2DynamicExt and its creator, from a plugin struct.
#pragma once

#include "tenon/plugin/adapter.h"

#if !defined(__CUDACC__)
namespace tenon {
namespace kit {

template <class P>
class PluginV2 final : public nvinfer1::IPluginV2DynamicExt,
                       public Adapted<P, PluginV2<P>, nvinfer1::IPluginV2> {
  using Base = Adapted<P, PluginV2, nvinfer1::IPluginV2>;
  using Base::plugin_;

 public:
  PluginV2(P plugin, std::string name_space)
      : Base(std::move(plugin)), name_space_(std::move(name_space)) {
    this->offer_cpu_kernel(this);
  }
  PluginV2(const PluginV2&) = delete;
  PluginV2& operator=(const PluginV2&) = delete;
  ~PluginV2() override { this->withdraw_cpu_kernel(this); }

  const char* getPluginType() const noexcept override { return P::spec.name; }
  const char* getPluginVersion() const noexcept override { return P::spec.version; }
  void setPluginNamespace(const char* name) noexcept override {
    guard<P>([&] { name_space_ = name == nullptr ? "" : name; });
  }
  const char* getPluginNamespace() const noexcept override { return name_space_.c_str(); }
  int32_t getNbOutputs() const noexcept override { return P::spec.outputs.count; }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  void destroy() noexcept override { delete this; }
  PluginV2* clone() const noexcept override {
    PluginV2* copy = nullptr;
    guard<P>([&] { copy = new PluginV2(plugin_, name_space_); });
    return copy;
  }
  size_t getSerializationSize() const noexcept override {
    size_t size = 0;
    guard<P>([&] { size = StoredAttributes(plugin_).bytes().size(); });
    return size;
  }
  void serialize(void* buffer) const noexcept override {
    guard<P>([&] {
      const std::string bytes = StoredAttributes(plugin_).bytes();
      std::memcpy(buffer, bytes.data(), bytes.size());
    });
  }
  DataType getOutputDataType(int32_t index, const DataType* inputs,
                             int32_t) const noexcept override {
    return output_type<P>(index, inputs);
  }
  DimsExprs getOutputDimensions(int32_t index, const DimsExprs* inputs, int32_t input_count,
                                nvinfer1::IExprBuilder& builder) noexcept override {
    std::array<DimsExprs, P::spec.outputs.count> outputs{};
    const int32_t status =
        guard<P>([&] { output_shapes(plugin_, inputs, input_count, outputs.data(), builder); });
    DimsExprs failed{};
    failed.nbDims = -1;
    return status == 0 && index >= 0 && index < P::spec.outputs.count ? outputs[index] : failed;
  }
  bool supportsFormatCombination(int32_t position, const PluginTensorDesc* all, int32_t inputs,
                                 int32_t outputs) noexcept override {
    return accepts<P>(position, inputs, outputs,
                      [&](int i) -> const PluginTensorDesc& { return all[i]; });
  }
  void configurePlugin(const nvinfer1::DynamicPluginTensorDesc*, int32_t,
                       const nvinfer1::DynamicPluginTensorDesc*, int32_t) noexcept override {}
  size_t getWorkspaceSize(const PluginTensorDesc* inputs, int32_t, const PluginTensorDesc* outputs,
                          int32_t) const noexcept override {
    size_t bytes = 0;
    guard<P>([&] { bytes = workspace_bytes(plugin_, inputs, outputs); });
    return bytes;
  }
  int32_t enqueue(const PluginTensorDesc* inputs, const PluginTensorDesc* outputs,
                  const void* const* input_data, void* const* output_data, void* workspace,
                  cudaStream_t stream) noexcept override {
    return this->run_on_cuda(inputs, outputs, input_data, output_data, workspace, stream);
  }

 private:
  std::string name_space_;
};

template <class P> class CreatorV2 final : public nvinfer1::IPluginCreator {
 public:
  nvinfer1::IPluginV2* createPlugin(const char*,
                                    const PluginFieldCollection* fields) noexcept override {
    nvinfer1::IPluginV2* plugin = nullptr;
    guard<P>([&] { plugin = new PluginV2<P>(parse<P>(fields), name_space_); });
    return plugin;
  }
  nvinfer1::IPluginV2* deserializePlugin(const char*, const void* data,
                                         size_t size) noexcept override {
    nvinfer1::IPluginV2* plugin = nullptr;
    guard<P>([&] {
      const auto stored = StoredAttributes::from_bytes<P>(data, data == nullptr ? 0 : size);
      plugin = new PluginV2<P>(parse<P>(stored.collection()), name_space_);
    });
    return plugin;
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return &collection_; }
  const char* getPluginName() const noexcept override { return P::spec.name; }
  const char* getPluginVersion() const noexcept override { return P::spec.version; }
  void setPluginNamespace(const char* name) noexcept override {
    guard<P>([&] { name_space_ = name == nullptr ? "" : name; });
  }
  const char* getPluginNamespace() const noexcept override { return name_space_.c_str(); }

 private:
  std::vector<PluginField> fields_ = declared_fields<P>();
  PluginFieldCollection collection_{static_cast<int32_t>(fields_.size()), fields_.data()};
  std::string name_space_ = P::spec.name_space;
};

}  // namespace kit
}  // namespace tenon
#endif
