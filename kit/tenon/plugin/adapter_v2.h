/// IPluginV2DynamicExt and its creator, from a plugin struct.
#pragma once

#include "tenon/plugin/adapter.h"

namespace tenon {
namespace kit {

class __attribute__((visibility("hidden"))) PluginV2 final : public nvinfer1::IPluginV2DynamicExt,
                                                             private Adapted {
 public:
  PluginV2(const Entry& entry, std::unique_ptr<Model> model, std::string name_space)
      : Adapted(entry, std::move(model)), name_space_(std::move(name_space)) {
    offer_cpu_kernel<nvinfer1::IPluginV2>(this, &run);
  }
  PluginV2(const PluginV2& other) : Adapted(other), name_space_(other.name_space_) {
    offer_cpu_kernel<nvinfer1::IPluginV2>(this, &run);
  }
  PluginV2& operator=(const PluginV2&) = delete;
  ~PluginV2() override { withdraw_cpu_kernel<nvinfer1::IPluginV2>(this); }

  /// A TenonCpuKernel; `plugin` is an IPluginV2*.
  static int32_t run(void* plugin, const PluginTensorDesc* inputs, const PluginTensorDesc* outputs,
                     const void* const* input_data, void* const* output_data, void* workspace) {
    return static_cast<PluginV2*>(static_cast<nvinfer1::IPluginV2*>(plugin))
        ->run_on_cpu(inputs, outputs, input_data, output_data, workspace);
  }
  using Adapted::restore;

  const char* getPluginType() const noexcept override { return entry_.spec.name; }
  const char* getPluginVersion() const noexcept override { return entry_.spec.version; }
  void setPluginNamespace(const char* name) noexcept override {
    guard(entry_, [&] { name_space_ = name == nullptr ? "" : name; });
  }
  const char* getPluginNamespace() const noexcept override { return name_space_.c_str(); }
  int32_t getNbOutputs() const noexcept override { return output_count_; }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  void destroy() noexcept override { delete this; }
  PluginV2* clone() const noexcept override {
    PluginV2* copy = nullptr;
    guard(entry_, [&] { copy = new PluginV2(*this); });
    return copy;
  }
  size_t getSerializationSize() const noexcept override {
    size_t size = 0;
    guard(entry_, [&] { size = saved().bytes().size(); });
    return size;
  }
  void serialize(void* buffer) const noexcept override {
    guard(entry_, [&] {
      const std::string bytes = saved().bytes();
      if (!bytes.empty()) std::memcpy(buffer, bytes.data(), bytes.size());
    });
  }
  DataType getOutputDataType(int32_t index, const DataType* inputs,
                             int32_t count) const noexcept override {
    return output_type(index, inputs, count);
  }
  DimsExprs getOutputDimensions(int32_t index, const DimsExprs* inputs, int32_t input_count,
                                nvinfer1::IExprBuilder& builder) noexcept override {
    std::array<DimsExprs, Ports::kMax> outputs{};
    const int32_t status = guard(
        entry_, [&] { output_shapes(inputs, input_count, nullptr, 0, outputs.data(), builder); });
    DimsExprs failed{};
    failed.nbDims = -1;
    return status == 0 && index >= 0 && index < output_count_ ? outputs[static_cast<size_t>(index)]
                                                              : failed;
  }
  bool supportsFormatCombination(int32_t position, const PluginTensorDesc* all, int32_t inputs,
                                 int32_t outputs) noexcept override {
    return accepts(position, inputs, outputs,
                   [&](int i) -> const PluginTensorDesc& { return all[i]; });
  }
  void configurePlugin(const nvinfer1::DynamicPluginTensorDesc*, int32_t inputs,
                       const nvinfer1::DynamicPluginTensorDesc*, int32_t) noexcept override {
    guard(entry_, [&] { set_input_count(inputs); });
  }
  size_t getWorkspaceSize(const PluginTensorDesc* inputs, int32_t, const PluginTensorDesc* outputs,
                          int32_t) const noexcept override {
    size_t bytes = kUnknownWorkspace;
    guard(entry_, [&] { bytes = workspace_bytes(inputs, outputs); });
    return bytes;
  }
  int32_t enqueue(const PluginTensorDesc* inputs, const PluginTensorDesc* outputs,
                  const void* const* input_data, void* const* output_data, void* workspace,
                  cudaStream_t stream) noexcept override {
    return run_on_cuda(inputs, outputs, input_data, output_data, workspace, stream);
  }

 private:
  std::string name_space_;
};

class __attribute__((visibility("hidden"))) CreatorV2 final : public nvinfer1::IPluginCreator {
 public:
  explicit CreatorV2(const Entry& entry) : entry_(entry), name_space_(entry.spec.name_space) {
    if (!entry.spec.inputs.is_fixed()) stored_.push_back("number of inputs");
  }
  nvinfer1::IPluginV2* createPlugin(const char*,
                                    const PluginFieldCollection* fields) noexcept override {
    nvinfer1::IPluginV2* plugin = nullptr;
    guard(entry_, [&] { plugin = make(fields).release(); });
    return plugin;
  }
  nvinfer1::IPluginV2* deserializePlugin(const char*, const void* data,
                                         size_t size) noexcept override {
    nvinfer1::IPluginV2* plugin = nullptr;
    guard(entry_, [&] {
      const auto stored = StoredAttributes::from_bytes(stored_, data, data == nullptr ? 0 : size);
      auto made = make(stored.collection());
      made->restore(stored.number(entry_.stored.size()));
      plugin = made.release();
    });
    return plugin;
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return &collection_; }
  const char* getPluginName() const noexcept override { return entry_.spec.name; }
  const char* getPluginVersion() const noexcept override { return entry_.spec.version; }
  void setPluginNamespace(const char* name) noexcept override {
    guard(entry_, [&] { name_space_ = name == nullptr ? "" : name; });
  }
  const char* getPluginNamespace() const noexcept override { return name_space_.c_str(); }

 private:
  std::unique_ptr<PluginV2> make(const PluginFieldCollection* fields) const {
    if (entry_.needs_v3)
      throw std::invalid_argument(
          "its output shapes depend on data, which version 2 of the plugin protocol cannot say; "
          "add "
          "it with addPluginV3()");
    return std::make_unique<PluginV2>(entry_, entry_.create(fields, entry_.label()), name_space_);
  }

  const Entry& entry_;
  std::vector<const char*> stored_ = entry_.stored;
  PluginFieldCollection collection_{static_cast<int32_t>(entry_.fields.size()),
                                    entry_.fields.data()};
  std::string name_space_;
};

}  // namespace kit
}  // namespace tenon
