// Plugins of version 3.
#include <tenon/plugin/number_builder.h>

#include <cstring>

#include "check/subject.h"

namespace tenon::check {
namespace {

using nvinfer1::Dims;
using nvinfer1::IPluginV3;
using nvinfer1::PluginCapabilityType;
using nvinfer1::PluginFieldType;
using Build = nvinfer1::v_1_0::IPluginV3OneBuild;
using Runtime = nvinfer1::v_1_0::IPluginV3OneRuntime;
using Core = nvinfer1::v_1_0::IPluginV3OneCore;

class ResourceContext final : public nvinfer1::IPluginResourceContext {
 public:
  nvinfer1::IGpuAllocator* getGpuAllocator() const noexcept override { return &allocator(); }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override { return nullptr; }
};

size_t bytes_of(const PluginField& field) {
  const auto length = static_cast<size_t>(std::max(field.length, 0));
  switch (field.type) {
    case PluginFieldType::kFLOAT64:
    case PluginFieldType::kINT64:
      return 8 * length;
    case PluginFieldType::kFLOAT32:
    case PluginFieldType::kINT32:
      return 4 * length;
    case PluginFieldType::kFLOAT16:
    case PluginFieldType::kBF16:
    case PluginFieldType::kINT16:
      return 2 * length;
    case PluginFieldType::kDIMS:
      return sizeof(Dims) * length;
    case PluginFieldType::kINT4:
    case PluginFieldType::kFP4:
      return (length + 1) / 2;
    default:
      return length;
  }
}

class Version3 final : public Subject {
 public:
  explicit Version3(IPluginV3* plugin)
      : plugin_(plugin),
        core_(capability<Core>(PluginCapabilityType::kCORE, "PLUGIN_V3ONE_CORE")),
        build_(capability<Build>(PluginCapabilityType::kBUILD, "PLUGIN_V3ONE_BUILD")),
        runtime_(capability<Runtime>(PluginCapabilityType::kRUNTIME, "PLUGIN_V3ONE_RUNTIME")) {
    if (core_ == nullptr) throw Broken{"a core capability (IPluginV3OneCore)", "null"};
    if (runtime_ == nullptr) throw Broken{"a runtime capability (IPluginV3OneRuntime)", "null"};
  }

  const char* family() const override { return "IPluginV3"; }
  Identity identity() const override {
    return {text_or_empty(core_->getPluginName()), text_or_empty(core_->getPluginVersion()),
            text_or_empty(core_->getPluginNamespace())};
  }
  int output_count() const override { return build().getNbOutputs(); }
  std::unique_ptr<Subject> clone() const override {
    IPluginV3* copy = plugin_->clone();
    if (copy == nullptr) throw Broken{"a plugin from clone()", "null" + plugin_log()};
    return std::make_unique<Version3>(copy);
  }
  bool set_name_space(const char*) const override { return false; }
  std::string serialized() const override {
    const auto& collection = stored();
    std::string text;
    for (int i = 0; i < collection.nbFields; ++i) {
      const PluginField& f = collection.fields[i];
      text += fmt::format("{}:{}:{}:", text_or_empty(f.name), static_cast<int>(f.type), f.length);
      text.append(static_cast<const char*>(f.data), bytes_of(f));
    }
    return text;
  }
  /// What getFieldsToSerialize() gives; throws Broken when it has holes.
  const nvinfer1::PluginFieldCollection& stored() const {
    const nvinfer1::PluginFieldCollection* collection = runtime_->getFieldsToSerialize();
    if (collection == nullptr || collection->nbFields < 0
        || (collection->nbFields > 0 && collection->fields == nullptr))
      throw Broken{"fields from getFieldsToSerialize()", "none" + plugin_log()};
    for (int i = 0; i < collection->nbFields; ++i) {
      const PluginField& f = collection->fields[i];
      if (f.name == nullptr || f.length < 0 || (f.length > 0 && f.data == nullptr))
        throw Broken{fmt::format("a name and data for field {} of getFieldsToSerialize()", i),
                     fmt::format("\"{}\" of length {}{}", text_or_empty(f.name), f.length,
                                 f.data == nullptr ? " without data" : "")};
    }
    return *collection;
  }

  std::vector<OutputShape> output_shapes(
      const std::vector<Dims>& inputs,
      const std::vector<std::vector<int64_t>>& shape_inputs) const override {
    kit::testing::NumberBuilder builder;
    std::vector<nvinfer1::DimsExprs> in, values;
    std::vector<nvinfer1::DimsExprs> out(static_cast<size_t>(output_count()));
    for (const Dims& d : inputs) in.push_back(builder.expressions(d.d, d.nbDims));
    for (const auto& list : shape_inputs)
      values.push_back(builder.expressions(list.data(), count(list)));
    require_success("getOutputShapes",
                    build().getOutputShapes(in.data(), count(in), values.data(), count(values),
                                            out.data(), count(out), builder));
    std::vector<OutputShape> list;
    for (int i = 0; i < count(out); ++i) list.push_back(read_shape(out[static_cast<size_t>(i)], i));
    for (const auto& [output, max] : builder.size_tensors()) {
      if (output < 0 || output >= count(list))
        throw Broken{fmt::format("declareSizeTensor() of one of {} outputs", list.size()),
                     std::to_string(output)};
      list[static_cast<size_t>(output)].max_size = max;
    }
    return list;
  }
  std::vector<DataType> output_types(const std::vector<DataType>& inputs) const override {
    std::vector<DataType> list(static_cast<size_t>(output_count()));
    require_success("getOutputDataTypes", build().getOutputDataTypes(list.data(), count(list),
                                                                     inputs.data(), count(inputs)));
    return list;
  }
  bool supports(int position, const Tensors& all, int inputs) const override {
    const auto descs = dynamic_of(all);
    return build().supportsFormatCombination(position, descs.data(), inputs, count(descs) - inputs);
  }
  void configure(const Tensors& inputs, const Tensors& outputs) const override {
    const auto in = dynamic_of(inputs), out = dynamic_of(outputs);
    require_success("configurePlugin",
                    build().configurePlugin(in.data(), count(in), out.data(), count(out)));
  }
  size_t workspace_bytes(const Tensors& inputs, const Tensors& outputs) const override {
    const auto in = dynamic_of(inputs), out = dynamic_of(outputs);
    return build().getWorkspaceSize(in.data(), count(in), out.data(), count(out));
  }
  std::unique_ptr<Subject> attach(const Tensors& inputs, const Tensors& outputs) override {
    static ResourceContext context;
    IPluginV3* made = runtime_->attachToContext(&context);
    if (made == nullptr) throw Broken{"a plugin from attachToContext()", "null" + plugin_log()};
    auto attached = std::make_unique<Version3>(made);
    const auto in = descs_of(inputs), out = descs_of(outputs);
    require_success("setTactic", attached->runtime_->setTactic(first_tactic()));
    require_success("onShapeChange", attached->runtime_->onShapeChange(in.data(), count(in),
                                                                       out.data(), count(out)));
    return attached;
  }
  int aliased_input(int output) const override {
    if (build_ == nullptr || build_->getInterfaceInfo().major < 2) return -1;
    return static_cast<nvinfer1::IPluginV3OneBuildV2&>(*build_).getAliasedInput(output);
  }
  int32_t enqueue(const Tensors& inputs, const Tensors& outputs, const void* const* input_data,
                  void* const* output_data, void* workspace, cudaStream_t stream) const override {
    const auto in = descs_of(inputs), out = descs_of(outputs);
    return runtime_->enqueue(in.data(), out.data(), input_data, output_data, workspace, stream);
  }
  void* object() const override { return plugin_.get(); }

 private:
  template <class Capability>
  Capability* capability(PluginCapabilityType type, const char* kind) const {
    nvinfer1::IPluginCapability* found = plugin_->getCapabilityInterface(type);
    if (found == nullptr) return nullptr;
    const std::string actual = text_or_empty(found->getInterfaceInfo().kind);
    if (actual != kind)
      throw Broken{fmt::format("a capability of kind \"{}\"", kind), '"' + actual + '"'};
    return static_cast<Capability*>(found);
  }
  Build& build() const {
    if (build_ == nullptr) throw Broken{"a build capability (IPluginV3OneBuild)", "null"};
    return *build_;
  }
  int32_t first_tactic() const {
    const int32_t tactics = build_ == nullptr ? 0 : build_->getNbTactics();
    if (tactics <= 0) return 0;
    std::vector<int32_t> list(static_cast<size_t>(tactics));
    require_success("getValidTactics", build_->getValidTactics(list.data(), tactics));
    return list[0];
  }

  std::unique_ptr<IPluginV3> plugin_;
  Core* core_;
  Build* build_;
  Runtime* runtime_;
};

class CreatorV3 final : public Creator {
 public:
  explicit CreatorV3(nvinfer1::v_1_0::IPluginCreatorV3One& creator) : creator_(creator) {}
  Identity identity() const override {
    return {text_or_empty(creator_.getPluginName()), text_or_empty(creator_.getPluginVersion()),
            text_or_empty(creator_.getPluginNamespace())};
  }
  const nvinfer1::PluginFieldCollection* fields() const override {
    return creator_.getFieldNames();
  }
  std::unique_ptr<Subject> create(const std::vector<PluginField>& fields) const override {
    return make(fields, nvinfer1::TensorRTPhase::kBUILD);
  }
  std::unique_ptr<Subject> restore(const Subject& subject) const override {
    // Copies, as a plan's: the plugin may be gone when they are read.
    std::vector<PluginField> fields;
    std::vector<std::unique_ptr<char[]>> memory;
    const auto& stored = static_cast<const Version3&>(subject).stored();
    for (int i = 0; i < stored.nbFields; ++i) {
      PluginField f = stored.fields[i];
      const std::string name = f.name;
      f.name = static_cast<char*>(
          std::memcpy(memory.emplace_back(std::make_unique<char[]>(name.size() + 1)).get(),
                      name.c_str(), name.size() + 1));
      if (f.data != nullptr)
        f.data = std::memcpy(memory.emplace_back(std::make_unique<char[]>(bytes_of(f))).get(),
                             f.data, bytes_of(f));
      fields.push_back(f);
    }
    auto made = make(fields, nvinfer1::TensorRTPhase::kRUNTIME);
    if (made == nullptr)
      throw Broken{"a plugin from createPlugin(kRUNTIME) with the fields of getFieldsToSerialize()",
                   "null" + plugin_log()};
    return made;
  }

 private:
  std::unique_ptr<Subject> make(const std::vector<PluginField>& fields,
                                nvinfer1::TensorRTPhase phase) const {
    const nvinfer1::PluginFieldCollection collection{count(fields), fields.data()};
    IPluginV3* plugin = creator_.createPlugin("checked", &collection, phase);
    return plugin == nullptr ? nullptr : std::make_unique<Version3>(plugin);
  }
  nvinfer1::v_1_0::IPluginCreatorV3One& creator_;
};

}  // namespace

std::unique_ptr<Creator> make_creator_v3(nvinfer1::v_1_0::IPluginCreatorV3One& creator) {
  return std::make_unique<CreatorV3>(creator);
}

}  // namespace tenon::check
