#include "ops/plugin.h"

#include <cstring>

#include "base/error.h"
#include "ops/plugin_expr.h"
#include "ops/plugin_fields.h"
#include "ops/plugin_run.h"
#include "registry/plugin_host.h"
#include "registry/registry.h"

namespace tenon {

using nvinfer1::DimsExprs;
using nvinfer1::IPluginV2;
using nvinfer1::IPluginV2DynamicExt;
using nvinfer1::IPluginV3;
using nvinfer1::IPluginV3OneBuild;
using nvinfer1::IPluginV3OneCore;
using nvinfer1::IPluginV3OneRuntime;
using nvinfer1::PluginCapabilityType;

namespace {

constexpr int64_t kMostOutputs = 1024;
constexpr size_t kMostSerializedBytes = size_t{1} << 31;

std::string text_or_empty(const char* text) {
  return text == nullptr ? "" : text;
}

// The family of a version-2 plugin is in the top byte of its version number.
IPluginV2DynamicExt& dynamic(IPluginV2& plugin, const std::string& label) {
  const auto number = static_cast<uint32_t>(plugin.getTensorRTVersion());
  const uint32_t family = number >> 24, version = number & 0xFFFFFF;
  require(version >= 100000,
          "{} was built for TensorRT {}.{}: compile it again with TensorRT 10's headers", label,
          version / 1000, version / 100 % 10);
  switch (family) {
    case 0:
      fail(ErrorCode::kUNSUPPORTED_STATE,
           "{}: IPluginV2 is not supported yet; derive it from IPluginV2DynamicExt or IPluginV3",
           label);
    case 1:
      fail(ErrorCode::kUNSUPPORTED_STATE,
           "{}: IPluginV2Ext is not supported yet; derive it from IPluginV2DynamicExt or IPluginV3",
           label);
    case 2:
      fail(ErrorCode::kUNSUPPORTED_STATE,
           "{}: IPluginV2IOExt is not supported yet; derive it from IPluginV2DynamicExt or "
           "IPluginV3",
           label);
    case 3:
      return static_cast<IPluginV2DynamicExt&>(plugin);
    default:
      fail(ErrorCode::kUNSUPPORTED_STATE, "{}: version-2 plugins of kind {} are not supported yet",
           label, family);
  }
}

struct InputDescription {
  std::vector<DimsExprs> dims;
  std::vector<DataType> types;
};

InputDescription describe_inputs(Inference& c, int count, PluginExprBuilder& builder,
                                 const std::string& label) {
  InputDescription inputs;
  for (int i = 0; i < count; ++i) {
    require(c.has_input(i), "{}: input {} is left out; plugins have no optional inputs here", label,
            i);
    inputs.dims.push_back(builder.expose(c.dims(i)));
    inputs.types.push_back(c.type(i));
  }
  return inputs;
}

DataType checked_type(DataType type, int output, const std::string& label) {
  const auto number = static_cast<int32_t>(type);
  require(number >= 0 && number < nvinfer1::impl::EnumMaxImpl<DataType>::kVALUE,
          "{} gives output {} the data type {}, which is none", label, output, number);
  return type;
}

void check_misuse(const PluginExprBuilder& builder, const std::string& label) {
  if (!builder.error().empty())
    fail(ErrorCode::kUNSUPPORTED_STATE, "{}, shape rule: {}", label, builder.error());
}

}  // namespace

std::string PluginLayer::label() const {
  return fmt::format("plugin \"{}\" version \"{}\"", plugin_name_, version_);
}

void PluginLayer::visit_identity(FieldVisitor& v) {
  v("plugin", plugin_name_);
  v("version", version_);
  v("namespace", name_space_);
  v("outputs", outputs_);
  v("shape_inputs", shape_inputs_);
}

void PluginLayer::check_output_count(int64_t count) const {
  require(count >= 1 && count <= kMostOutputs, "{} says that it has {} outputs; expected 1 to {}",
          label(), count, kMostOutputs);
}

nvinfer1::IPluginCreatorInterface& PluginLayer::creator(std::string_view kind) const {
  auto* found = find_creator(plugin_name_, version_, name_space_);
  if (found == nullptr)
    throw Error(ErrorCode::kINVALID_ARGUMENT, explain_missing(plugin_name_, version_, name_space_));
  const std::string actual = text_or_empty(found->getInterfaceInfo().kind);
  require(actual == kind, "{}: the registered creator is a \"{}\", this layer needs a \"{}\"",
          label(), actual, kind);
  return *found;
}

void PluginLayer::reference(const ReferenceCall& call) const {
  const auto linear = [](const TensorView& t) {
    return nvinfer1::PluginTensorDesc{t.shape.dims(), t.type, nvinfer1::TensorFormat::kLINEAR, 1};
  };
  std::vector<nvinfer1::PluginTensorDesc> inputs, outputs;
  std::vector<const void*> input_data;
  std::vector<void*> output_data;
  for (const TensorView& t : call.inputs) {
    inputs.push_back(linear(t));
    input_data.push_back(t.data);
  }
  for (const TensorView& t : call.outputs) {
    outputs.push_back(linear(t));
    output_data.push_back(t.data);
  }
  negotiate_plugin(*this, inputs, outputs);
  const auto run = prepare_plugin(*this, inputs, outputs, {});
  const auto workspace = allocate_aligned(run->workspace_bytes());
  run->run(input_data, output_data, workspace.get(), nullptr);
}

// Version 2.

PluginV2Instance::~PluginV2Instance() {
  if (initialized_) plugin_->terminate();
  plugin_->destroy();
}

void PluginV2Instance::initialize(const std::string& label) {
  const std::lock_guard lock(mutex_);
  if (initialized_) return;
  const int32_t status = plugin_->initialize();
  if (status != 0)
    fail(ErrorCode::kFAILED_INITIALIZATION, "{}: initialize() failed with {}{}", label, status,
         take_plugin_error());
  initialized_ = true;
}

PluginV2Layer::PluginV2Layer(IPluginV2& plugin) {
  plugin_name_ = text_or_empty(plugin.getPluginType());
  version_ = text_or_empty(plugin.getPluginVersion());
  name_space_ = text_or_empty(plugin.getPluginNamespace());
  require(!plugin_name_.empty(), "a plugin without a type name (getPluginType) cannot be added");
  IPluginV2DynamicExt& source = dynamic(plugin, label());
  outputs_ = source.getNbOutputs();
  check_output_count(outputs_);
  IPluginV2DynamicExt* copy = source.clone();
  require(copy != nullptr, "{}: clone() gave null{}", label(), take_plugin_error());
  instance_ = std::make_shared<PluginV2Instance>(copy);
  copy->setPluginNamespace(name_space_.c_str());
}

PluginV2Layer::PluginV2Layer(const PluginV2Layer& other)
    : PluginLayer(other), serialized_(other.serialized_) {
  const std::lock_guard lock(other.mutex_);
  instance_ = other.instance_;
}

PluginV2Instance& PluginV2Layer::instance() const {
  const std::lock_guard lock(mutex_);
  if (instance_ == nullptr) {
    auto& factory = static_cast<nvinfer1::IPluginCreator&>(creator("PLUGIN CREATOR_V1"));
    take_plugin_error();
    IPluginV2* made =
        factory.deserializePlugin(plugin_name_.c_str(), serialized_.data(), serialized_.size());
    require(made != nullptr, "{} cannot be restored from its {} serialized bytes{}", label(),
            serialized_.size(), take_plugin_error());
    IPluginV2DynamicExt* plugin = nullptr;
    try {
      plugin = &dynamic(*made, label());
      const int64_t count = plugin->getNbOutputs();
      require(count == outputs_,
              "{} has {} outputs now, but the layer was built with {}: another plugin of that name "
              "is registered",
              label(), count, outputs_);
    } catch (...) {
      made->destroy();
      throw;
    }
    plugin->setPluginNamespace(name_space_.c_str());
    instance_ = std::make_shared<PluginV2Instance>(plugin);
  }
  return *instance_;
}

void PluginV2Layer::visit(FieldVisitor& v) {
  if (instance_ != nullptr) {
    const IPluginV2DynamicExt& plugin = instance_->plugin();
    const size_t size = plugin.getSerializationSize();
    require(size <= kMostSerializedBytes, "{}: getSerializationSize() says {} bytes", label(),
            size);
    serialized_.assign(size, '\0');
    plugin.serialize(serialized_.data());
  }
  visit_identity(v);
  v("serialized", serialized_);
}

void PluginV2Layer::infer(Inference& c) const {
  IPluginV2DynamicExt& plugin = instance().plugin();
  PluginExprBuilder builder(c.pool());
  const InputDescription in = describe_inputs(c, c.input_count(), builder, label());
  const auto count = static_cast<int32_t>(in.types.size());
  for (int i = 0; i < output_count(); ++i) {
    const DimsExprs out = plugin.getOutputDimensions(i, in.dims.data(), count, builder);
    check_misuse(builder, label());
    Dims dims = builder.read(out, fmt::format("{}: output {}", label(), i));
    c.set_output(i, checked_type(plugin.getOutputDataType(i, in.types.data(), count), i, label()),
                 std::move(dims));
  }
}

std::unique_ptr<Op> make_plugin_v2(IPluginV2& plugin) {
  return std::make_unique<PluginV2Layer>(plugin);
}

IPluginV2* plugin_v2_of(const Op& op) {
  const auto* layer = dynamic_cast<const PluginV2Layer*>(&op);
  return layer == nullptr ? nullptr : &layer->instance().plugin();
}

// Version 3.

nvinfer1::IPluginCapability* capability_of(IPluginV3& plugin, PluginCapabilityType type,
                                           std::string_view kind, const std::string& label) {
  nvinfer1::IPluginCapability* capability = plugin.getCapabilityInterface(type);
  if (capability == nullptr) return nullptr;
  const std::string actual = text_or_empty(capability->getInterfaceInfo().kind);
  if (actual != kind)
    fail(ErrorCode::kUNSUPPORTED_STATE,
         "{}: plugin capabilities of kind \"{}\" are not supported yet; expected \"{}\"", label,
         actual, kind);
  return capability;
}

PluginV3Layer::PluginV3Layer(IPluginV3& plugin, int shape_inputs) {
  auto* core = static_cast<IPluginV3OneCore*>(
      capability_of(plugin, PluginCapabilityType::kCORE, "PLUGIN_V3ONE_CORE", "the plugin"));
  require(core != nullptr, "the plugin has no core capability (IPluginV3OneCore)");
  plugin_name_ = text_or_empty(core->getPluginName());
  version_ = text_or_empty(core->getPluginVersion());
  name_space_ = text_or_empty(core->getPluginNamespace());
  require(!plugin_name_.empty(), "a plugin without a name (getPluginName) cannot be added");
  require(shape_inputs >= 0, "{}: {} shape inputs", label(), shape_inputs);
  shape_inputs_ = shape_inputs;
  IPluginV3* copy = plugin.clone();
  require(copy != nullptr, "{}: clone() gave null{}", label(), take_plugin_error());
  plugin_.reset(copy);
  IPluginV3OneBuild* builds = build();
  require(builds != nullptr, "{} has no build capability (IPluginV3OneBuild)", label());
  runtime();
  outputs_ = builds->getNbOutputs();
  check_output_count(outputs_);
}

PluginV3Layer::PluginV3Layer(const PluginV3Layer& other)
    : PluginLayer(other), fields_(other.fields_) {
  const std::lock_guard lock(other.mutex_);
  plugin_ = other.plugin_;
}

IPluginV3& PluginV3Layer::plugin() const {
  const std::lock_guard lock(mutex_);
  if (plugin_ == nullptr) {
    auto& factory = static_cast<nvinfer1::IPluginCreatorV3One&>(creator("PLUGIN CREATOR_V3ONE"));
    const StoredFields fields(fields_);
    take_plugin_error();
    plugin_.reset(factory.createPlugin(plugin_name_.c_str(), &fields.collection(),
                                       nvinfer1::TensorRTPhase::kRUNTIME));
    require(plugin_ != nullptr, "{} cannot be restored from its {} serialized fields{}", label(),
            fields.collection().nbFields, take_plugin_error());
  }
  return *plugin_;
}

IPluginV3OneBuild* PluginV3Layer::build() const {
  return static_cast<IPluginV3OneBuild*>(
      capability_of(plugin(), PluginCapabilityType::kBUILD, "PLUGIN_V3ONE_BUILD", label()));
}

IPluginV3OneRuntime& PluginV3Layer::runtime() const {
  auto* runs = static_cast<IPluginV3OneRuntime*>(
      capability_of(plugin(), PluginCapabilityType::kRUNTIME, "PLUGIN_V3ONE_RUNTIME", label()));
  require(runs != nullptr, "{} has no runtime capability (IPluginV3OneRuntime)", label());
  return *runs;
}

void PluginV3Layer::visit(FieldVisitor& v) {
  if (plugin_ != nullptr)
    fields_ =
        with_context(label(), [&] { return flatten_fields(runtime().getFieldsToSerialize()); });
  visit_identity(v);
  v("fields", fields_);
}

void PluginV3Layer::infer(Inference& c) const {
  IPluginV3OneBuild* plugin = build();
  require(plugin != nullptr, "{}: a plugin made for running has no shape rule to ask", label());
  const int data_inputs = c.input_count() - shape_inputs();
  require(data_inputs >= 0, "{}: {} inputs, of which {} are said to be shapes", label(),
          c.input_count(), shape_inputs());
  PluginExprBuilder builder(c.pool());
  const InputDescription in = describe_inputs(c, data_inputs, builder, label());
  std::vector<DimsExprs> shapes;
  for (int i = data_inputs; i < c.input_count(); ++i)
    shapes.push_back(builder.expose(c.known_content(i, "a plugin's shape input")));

  std::vector<DataType> types(outputs_, DataType::kFLOAT);
  int32_t status =
      plugin->getOutputDataTypes(types.data(), output_count(), in.types.data(), data_inputs);
  require(status == 0, "{}: getOutputDataTypes() failed with {}{}", label(), status,
          take_plugin_error());
  std::vector<DimsExprs> out(outputs_, DimsExprs{});
  status = plugin->getOutputShapes(in.dims.data(), data_inputs, shapes.data(), shape_inputs(),
                                   out.data(), output_count(), builder);
  check_misuse(builder, label());
  require(status == 0, "{}: getOutputShapes() failed with {}{}", label(), status,
          take_plugin_error());
  for (int i = 0; i < output_count(); ++i)
    c.set_output(i, checked_type(types[i], i, label()),
                 builder.read(out[i], fmt::format("{}: output {}", label(), i)));
}

std::unique_ptr<Op> make_plugin_v3(IPluginV3& plugin, int shape_inputs) {
  return std::make_unique<PluginV3Layer>(plugin, shape_inputs);
}

IPluginV3* plugin_v3_of(const Op& op) {
  const auto* layer = dynamic_cast<const PluginV3Layer*>(&op);
  return layer == nullptr ? nullptr : &layer->plugin();
}

TENON_REGISTER_OP(PluginV2Layer);
TENON_REGISTER_OP(PluginV3Layer);

}  // namespace tenon
