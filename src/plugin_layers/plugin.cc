#include "plugin_layers/plugin.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/tensor_format.h"
#include "base/text.h"
#include "plugin_layers/plugin_expr.h"
#include "plugin_layers/plugin_fields.h"
#include "plugin_layers/plugin_run.h"
#include "registry/plugin_host.h"
#include "registry/registry.h"

namespace tenon {

using nvinfer1::DimsExprs;
using nvinfer1::IPluginV2;
using nvinfer1::IPluginV3;
using nvinfer1::IPluginV3OneBuild;
using nvinfer1::IPluginV3OneCore;
using nvinfer1::IPluginV3OneRuntime;
using nvinfer1::PluginCapabilityType;

namespace {

constexpr int64_t kMaxOutputs = 1024;
constexpr size_t kMaxSerializedBytes = size_t{1} << 31;

// Plugins of the second version of the build capability may say that an output is an input's
// memory.
void refuse_aliases(IPluginV3OneBuild& plugin, int outputs, const std::string& label) {
  if (plugin.getInterfaceInfo().major < 2) return;
  auto& build = static_cast<nvinfer1::IPluginV3OneBuildV2&>(plugin);
  for (int i = 0; i < outputs; ++i)
    if (const int32_t input = build.getAliasedInput(i); input != -1)
      fail(ErrorCode::kUNSUPPORTED_STATE,
           "{}: output {} is to share the memory of input {} (getAliasedInput), which is not "
           "supported yet; let getAliasedInput() answer -1 and write to the output",
           label, i, input);
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
  v("int8_scales", scales);
}

void PluginLayer::check_output_count(int64_t count) const {
  require(count >= 1 && count <= kMaxOutputs, "{} says that it has {} outputs; expected 1 to {}",
          label(), count, kMaxOutputs);
}

nvinfer1::IPluginCreatorInterface& PluginLayer::creator(std::string_view kind) const {
  auto* found = find_creator(plugin_name_, version_, name_space_);
  if (found == nullptr)
    throw Error(ErrorClass::kPluginMissing, explain_missing(plugin_name_, version_, name_space_));
  const std::string actual = text_or_empty(found->getInterfaceInfo().kind);
  require(actual == kind, "{}: the registered creator is a \"{}\", this layer needs a \"{}\"",
          label(), actual, kind);
  return *found;
}

void PluginLayer::reference(const ReferenceCall& call) const {
  size_t tensors = 0;
  const auto linear = [&](const TensorView& t) {
    require(std::find(t.shape.begin(), t.shape.end(), -1) == t.shape.end(),
            "a plugin whose output shapes depend on data runs in an engine only");
    const auto dims = t.shape.dims();
    return PluginTensor{
        {dims, t.type, nvinfer1::TensorFormat::kLINEAR, scale_of(tensors++)}, dims, dims, dims};
  };
  std::vector<PluginTensor> inputs, outputs;
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
  for (const auto format : negotiate_plugin(*this, inputs, outputs).formats)
    require(format == nvinfer1::TensorFormat::kLINEAR,
            "{} wants tensors in the format {}, and runs in an engine only", label(),
            name_of(format));
  const auto run = prepare_plugin(*this, inputs, outputs, {}, PluginMemory::kHost);
  const auto workspace = allocate_aligned(run->workspace_bytes());
  run->run(input_data, output_data, workspace.get(), nullptr);
}

// Version 2.

PluginV2Layer::PluginV2Layer(IPluginV2& plugin) {
  plugin_name_ = text_or_empty(plugin.getPluginType());
  version_ = text_or_empty(plugin.getPluginVersion());
  name_space_ = text_or_empty(plugin.getPluginNamespace());
  require(!plugin_name_.empty(), "a plugin without a type name (getPluginType) cannot be added");
  plugin_family(plugin, label());
  outputs_ = plugin.getNbOutputs();
  check_output_count(outputs_);
  const PluginReports reports;
  IPluginV2* copy = plugin.clone();
  require(copy != nullptr, "{}: clone() gave null{}", label(), reports.text());
  instance_ = make_instance(*copy, label());
  copy->setPluginNamespace(name_space_.c_str());
}

PluginV2Layer::PluginV2Layer(const PluginV2Layer& other)
    : OpOf(other), max_batch_(other.max_batch_), serialized_(other.serialized_) {
  const std::lock_guard lock(other.mutex_);
  instance_ = other.instance_;
}

PluginV2Instance& PluginV2Layer::instance() const {
  const std::lock_guard lock(mutex_);
  if (instance_ == nullptr) {
    auto& factory = static_cast<nvinfer1::IPluginCreator&>(creator("PLUGIN CREATOR_V1"));
    const PluginReports reports;
    IPluginV2* made =
        factory.deserializePlugin(plugin_name_.c_str(), serialized_.data(), serialized_.size());
    require(made != nullptr, "{} cannot be restored from its {} serialized bytes{}", label(),
            serialized_.size(), reports.text());
    std::unique_ptr<PluginV2Instance> instance = make_instance(*made, label());
    const int64_t count = made->getNbOutputs();
    require(count == outputs_,
            "{} has {} outputs now, but the layer was built with {}: another plugin of that name "
            "is registered",
            label(), count, outputs_);
    made->setPluginNamespace(name_space_.c_str());
    require(max_batch_ >= 0 && max_batch_ <= INT32_MAX, "{}: a batch of {}", label(), max_batch_);
    instance->max_batch = static_cast<int32_t>(max_batch_);
    instance_ = std::move(instance);
  }
  return *instance_;
}

void PluginV2Layer::insert_batch_axis(int32_t largest_batch) {
  max_batch_ = largest_batch;
  // Copies of this layer use the instance too, and may have another batch.
  std::unique_ptr<PluginV2Instance> own = instance().clone();
  own->max_batch = largest_batch;
  instance_ = std::move(own);
}

void PluginV2Layer::visit(FieldVisitor& v) {
  if (instance_ != nullptr) {
    const IPluginV2& plugin = instance_->plugin();
    const size_t size = plugin.getSerializationSize();
    require(size <= kMaxSerializedBytes, "{}: getSerializationSize() says {} bytes", label(), size);
    serialized_.assign(size, '\0');
    plugin.serialize(serialized_.data());
  }
  visit_identity(v);
  v("max_batch", max_batch_);
  v("serialized", serialized_);
}

void PluginV2Layer::infer(Inference& c) const {
  instance().infer(c, output_count());
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
  const PluginReports reports;
  IPluginV3* copy = plugin.clone();
  require(copy != nullptr, "{}: clone() gave null{}", label(), reports.text());
  plugin_.reset(copy);
  IPluginV3OneBuild* builds = build();
  require(builds != nullptr, "{} has no build capability (IPluginV3OneBuild)", label());
  runtime();
  outputs_ = builds->getNbOutputs();
  check_output_count(outputs_);
}

PluginV3Layer::PluginV3Layer(const PluginV3Layer& other) : OpOf(other), fields_(other.fields_) {
  const std::lock_guard lock(other.mutex_);
  plugin_ = other.plugin_;
}

IPluginV3& PluginV3Layer::plugin() const {
  const std::lock_guard lock(mutex_);
  if (plugin_ == nullptr) {
    auto& factory = static_cast<nvinfer1::IPluginCreatorV3One&>(creator("PLUGIN CREATOR_V3ONE"));
    const StoredFields fields(fields_);
    const PluginReports reports;
    plugin_.reset(factory.createPlugin(plugin_name_.c_str(), &fields.collection(),
                                       nvinfer1::TensorRTPhase::kRUNTIME));
    require(plugin_ != nullptr, "{} cannot be restored from its {} serialized fields{}", label(),
            fields.collection().nbFields, reports.text());
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
  refuse_aliases(*plugin, output_count(), label());
  const int data_inputs = c.input_count() - shape_inputs();
  require(data_inputs >= 0, "{}: {} inputs, of which {} are said to be shapes", label(),
          c.input_count(), shape_inputs());
  PluginExprBuilder builder(c, output_count());
  const std::vector<DataType> in_types = plugin_input_types(c, data_inputs, label());
  const std::vector<DimsExprs> in_dims = builder.expose_inputs(data_inputs);
  std::vector<DimsExprs> shapes;
  for (int i = data_inputs; i < c.input_count(); ++i)
    shapes.push_back(builder.expose(c.known_content(i, "a plugin's shape input")));

  std::vector<DataType> types(outputs_, DataType::kFLOAT);
  const PluginReports reports;
  int32_t status =
      plugin->getOutputDataTypes(types.data(), output_count(), in_types.data(), data_inputs);
  require(status == 0, "{}: getOutputDataTypes() failed with {}{}", label(), status,
          reports.text());
  std::vector<DimsExprs> out(outputs_, DimsExprs{});
  status = plugin->getOutputShapes(in_dims.data(), data_inputs, shapes.data(), shape_inputs(),
                                   out.data(), output_count(), builder);
  builder.check(label());
  require(status == 0, "{}: getOutputShapes() failed with {}{}", label(), status, reports.text());
  for (int i = 0; i < output_count(); ++i)
    c.set_output(i, checked_plugin_type(types[i], i, label()),
                 builder.read(out[i], fmt::format("{}: output {}", label(), i)));
  for (const auto& [i, size] : builder.sizes()) {
    require(out[i].nbDims == 0 && (types[i] == DataType::kINT32 || types[i] == DataType::kINT64),
            "{}: output {} is declared a size tensor, but it is {} of rank {}; expected a scalar "
            "(rank 0) of int32 or int64",
            label(), i, name_of(types[i]), out[i].nbDims);
    c.set_content(i, {size});
  }
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
