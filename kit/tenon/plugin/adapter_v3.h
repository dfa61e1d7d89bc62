/// IPluginV3 and its creator, from a plugin struct.
#pragma once

#include "tenon/plugin/adapter.h"

namespace tenon {
namespace kit {

// It does not override getInterfaceInfo(): each of its bases has to answer for itself.
class __attribute__((visibility("hidden"))) PluginV3 final : public nvinfer1::IPluginV3,
                                                             public nvinfer1::IPluginV3OneCore,
                                                             public nvinfer1::IPluginV3OneBuild,
                                                             public nvinfer1::IPluginV3OneRuntime,
                                                             private Adapted {
 public:
  PluginV3(const Entry& entry, std::unique_ptr<Model> model) : Adapted(entry, std::move(model)) {
    offer_cpu_kernel<nvinfer1::IPluginV3>(this, &run);
  }
  PluginV3(const PluginV3& other) : Adapted(other) {
    offer_cpu_kernel<nvinfer1::IPluginV3>(this, &run);
  }
  PluginV3& operator=(const PluginV3&) = delete;
  ~PluginV3() override { withdraw_cpu_kernel<nvinfer1::IPluginV3>(this); }

  /// A TenonCpuKernel; `plugin` is an IPluginV3*.
  static int32_t run(void* plugin, const PluginTensorDesc* inputs, const PluginTensorDesc* outputs,
                     const void* const* input_data, void* const* output_data, void* workspace) {
    return static_cast<PluginV3*>(static_cast<nvinfer1::IPluginV3*>(plugin))
        ->run_on_cpu(inputs, outputs, input_data, output_data, workspace);
  }
  /// Takes the number of inputs from what getFieldsToSerialize() gave.
  void restore(const PluginFieldCollection* fields) {
    for (int32_t i = 0; fields != nullptr && i < fields->nbFields; ++i) {
      const nvinfer1::PluginField& f = fields->fields[i];
      if (f.name == nullptr || std::string_view(f.name) != kInputCount) continue;
      int32_t count = 0;
      FieldReader(f, kInputCount).read(count);
      Adapted::restore(count);
    }
  }

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
    guard(entry_, [&] { copy = new PluginV3(*this); });
    return copy;
  }
  nvinfer1::IPluginV3* attachToContext(nvinfer1::IPluginResourceContext*) noexcept override {
    return clone();
  }

  const char* getPluginName() const noexcept override { return entry_.spec.name; }
  const char* getPluginVersion() const noexcept override { return entry_.spec.version; }
  const char* getPluginNamespace() const noexcept override { return entry_.spec.name_space; }

  int32_t getNbOutputs() const noexcept override { return output_count_; }
  int32_t configurePlugin(const nvinfer1::DynamicPluginTensorDesc*, int32_t inputs,
                          const nvinfer1::DynamicPluginTensorDesc*, int32_t) noexcept override {
    return guard(entry_, [&] { set_input_count(inputs); });
  }
  int32_t onShapeChange(const PluginTensorDesc* inputs, int32_t count, const PluginTensorDesc*,
                        int32_t) noexcept override {
    return guard(entry_, [&] {
      set_input_count(count);
      check_inputs(inputs);
    });
  }
  bool supportsFormatCombination(int32_t position, const nvinfer1::DynamicPluginTensorDesc* all,
                                 int32_t inputs, int32_t outputs) noexcept override {
    return accepts(position, inputs, outputs,
                   [&](int i) -> const PluginTensorDesc& { return all[i].desc; });
  }
  int32_t getOutputDataTypes(DataType* types, int32_t count, const DataType* inputs,
                             int32_t input_count) const noexcept override {
    if (count != output_count_) return 1;
    for (int i = 0; i < count; ++i) types[i] = output_type(i, inputs, input_count);
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* inputs, int32_t input_count,
                          const DimsExprs* shape_inputs, int32_t shape_count, DimsExprs* outputs,
                          int32_t output_count, nvinfer1::IExprBuilder& builder) noexcept override {
    if (output_count != output_count_) return 1;
    return guard(entry_, [&] {
      output_shapes(inputs, input_count, shape_inputs, shape_count, outputs, builder);
    });
  }
  size_t getWorkspaceSize(const nvinfer1::DynamicPluginTensorDesc* inputs, int32_t input_count,
                          const nvinfer1::DynamicPluginTensorDesc* outputs,
                          int32_t output_count) const noexcept override {
    size_t bytes = kUnknownWorkspace;
    guard(entry_, [&] {
      const auto largest = [](const nvinfer1::DynamicPluginTensorDesc* list, int32_t count) {
        std::vector<PluginTensorDesc> descs;
        for (int32_t i = 0; i < count; ++i) (descs.emplace_back(list[i].desc)).dims = list[i].max;
        return descs;
      };
      if (input_count != input_count_ || output_count != output_count_)
        throw std::logic_error("the number of tensors has changed since configurePlugin()");
      bytes = workspace_bytes(largest(inputs, input_count).data(),
                              largest(outputs, output_count).data());
    });
    return bytes;
  }
  int32_t enqueue(const PluginTensorDesc* inputs, const PluginTensorDesc* outputs,
                  const void* const* input_data, void* const* output_data, void* workspace,
                  cudaStream_t stream) noexcept override {
    return run_on_cuda(inputs, outputs, input_data, output_data, workspace, stream);
  }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    guard(entry_, [&] { stored_ = saved(); });
    return stored_.collection();
  }

 private:
  StoredAttributes stored_;
};

class __attribute__((visibility("hidden"))) CreatorV3 final : public nvinfer1::IPluginCreatorV3One {
 public:
  explicit CreatorV3(const Entry& entry) : entry_(entry) {}
  nvinfer1::IPluginV3* createPlugin(const char*, const PluginFieldCollection* fields,
                                    nvinfer1::TensorRTPhase) noexcept override {
    nvinfer1::IPluginV3* plugin = nullptr;
    guard(entry_, [&] {
      auto made = std::make_unique<PluginV3>(entry_, entry_.create(fields, entry_.label()));
      made->restore(fields);
      plugin = made.release();
    });
    return plugin;
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return &collection_; }
  const char* getPluginName() const noexcept override { return entry_.spec.name; }
  const char* getPluginVersion() const noexcept override { return entry_.spec.version; }
  const char* getPluginNamespace() const noexcept override { return entry_.spec.name_space; }

 private:
  const Entry& entry_;
  PluginFieldCollection collection_{static_cast<int32_t>(entry_.fields.size()),
                                    entry_.fields.data()};
};

}  // namespace kit
}  // namespace tenon
