#include "import/plugin_node.h"

#include <onnx_schema.pb.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <deque>

#include "plugin_layers/plugin.h"
#include "registry/plugin_host.h"
#include "registry/registry.h"

namespace tenon {
namespace {

using nvinfer1::PluginField;
using nvinfer1::PluginFieldCollection;
using nvinfer1::PluginFieldType;
using onnx::AttributeProto;
using Code = nvonnxparser::ErrorCode;

constexpr const char* kVersion = "plugin_version";
constexpr const char* kNamespace = "plugin_namespace";
// How exporters of tensorRT_Pro name a plugin: a node of this operator says which in an attribute.
constexpr const char* kAnyPlugin = "Plugin";
constexpr const char* kName = "name";
// A creator that declares both fields gets constant inputs as fields, not as inputs of the layer.
constexpr const char* kWeights = "weights";
constexpr const char* kWeightsShape = "weights_shape";
// Says which inputs of a version 3 plugin are shape tensors.
constexpr const char* kShapeInputs = "tensorrt_plugin_shape_input_indices";

std::string text_attribute(const onnx::NodeProto& node, const char* name,
                           const std::string& otherwise) {
  for (const AttributeProto& a : node.attribute())
    if (a.name() == name && a.has_s()) return a.s();
  return otherwise;
}

// Fields made from attributes, and the memory behind them.
class Fields {
 public:
  explicit Fields(TensorSource& source) : source_(source) {}

  void add(const PluginField& declared, AttributeProto& a) {
    switch (a.type()) {
      case AttributeProto::FLOAT:
        add_array<float>(a.name().c_str(), PluginFieldType::kFLOAT32, {a.f()});
        break;
      case AttributeProto::FLOATS:
        add_array<float>(a.name().c_str(), PluginFieldType::kFLOAT32,
                         {a.floats().begin(), a.floats().end()});
        break;
      case AttributeProto::INT:
        add_integers(a, declared, {a.i()});
        break;
      case AttributeProto::INTS:
        add_integers(a, declared, {a.ints().begin(), a.ints().end()});
        break;
      case AttributeProto::STRING: {
        // Some plugins read `length` characters, others up to the terminator.
        std::vector<char> text(a.s().begin(), a.s().end());
        text.push_back(0);
        const size_t length = std::strlen(text.data());
        add_array<char>(a.name().c_str(), PluginFieldType::kCHAR, std::move(text), length);
        break;
      }
      case AttributeProto::TENSOR:
        add_tensor(a);
        break;
      default:
        fail_import(Code::kUNSUPPORTED_NODE_ATTR,
                    "attribute '{}' is of kind {}, which a plugin field cannot hold", a.name(),
                    AttributeProto::AttributeType_Name(a.type()));
    }
  }
  /// The elements, and after them the extents.
  void add_weights(const Tensor& t) {
    add_field(kWeights, field_type(t.type(), kWeights), t.data(), static_cast<size_t>(t.count()));
    tensors_.push_back(t);
    for (const int64_t extent : t.shape())
      require(extent <= INT32_MAX, "'{}' has the extent {}, too much for a plugin field", kWeights,
              extent);
    add_array<int32_t>(kWeightsShape, PluginFieldType::kINT32,
                       {t.shape().begin(), t.shape().end()});
  }
  PluginFieldCollection collection() const {
    return {static_cast<int32_t>(fields_.size()), fields_.data()};
  }

 private:
  template <class T>
  void add_array(const char* name, PluginFieldType type, std::vector<T> values, size_t length) {
    auto memory = allocate_aligned(std::max<size_t>(values.size() * sizeof(T), 1));
    if (!values.empty()) std::memcpy(memory.get(), values.data(), values.size() * sizeof(T));
    // Of numbers, data without a length is one number: an empty list has none.
    const bool has_data = !values.empty();
    add_field(name, type, has_data ? memory.get() : nullptr, length);
    memory_.push_back(std::move(memory));
  }
  template <class T> void add_array(const char* name, PluginFieldType type, std::vector<T> values) {
    const size_t length = values.size();
    add_array(name, type, std::move(values), length);
  }
  void add_field(const char* name, PluginFieldType type, const void* data, size_t length) {
    require(length <= INT32_MAX, "'{}' has {} elements, too many for a plugin field", name, length);
    fields_.emplace_back(name, data, type, static_cast<int32_t>(length));
  }

  void add_integers(const AttributeProto& a, const PluginField& declared,
                    const std::vector<int64_t>& values) {
    const auto fits = [](int64_t v) { return v >= INT32_MIN && v <= INT32_MAX; };
    const auto large = std::find_if_not(values.begin(), values.end(), fits);
    if (large == values.end())
      return add_array<int32_t>(a.name().c_str(), PluginFieldType::kINT32,
                                {values.begin(), values.end()});
    if (declared.type != PluginFieldType::kINT64)
      fail_import(
          Code::kINVALID_NODE,
          "attribute '{}' holds {}, which does not fit the 32-bit integer that plugins get; "
          "a plugin may declare the field as kINT64",
          a.name(), *large);
    add_array<int64_t>(a.name().c_str(), PluginFieldType::kINT64, values);
  }

  void add_tensor(AttributeProto& a) {
    const int32_t stored = a.t().data_type();
    if (stored == onnx::TensorProto::STRING) {
      require(a.t().string_data_size() == 1, "attribute '{}' is a tensor of {} strings; expected 1",
              a.name(), a.t().string_data_size());
      std::vector<char> text(a.t().string_data(0).begin(), a.t().string_data(0).end());
      text.push_back(0);
      const size_t length = text.size() - 1;
      return add_array<char>(a.name().c_str(), PluginFieldType::kCHAR, std::move(text), length);
    }
    const Tensor t = make_tensor(*a.mutable_t(), source_);
    if (stored == onnx::TensorProto::DOUBLE)
      fail_import(Code::kUNSUPPORTED_NODE_ATTR,
                  "attribute '{}' is a float64 tensor; make it float32", a.name());
    add_field(a.name().c_str(), field_type(t.type(), a.name()), t.data(),
              static_cast<size_t>(t.count()));
    tensors_.push_back(t);
  }

  static PluginFieldType field_type(DataType type, const std::string& name) {
    switch (type) {
      case DataType::kFLOAT:
        return PluginFieldType::kFLOAT32;
      case DataType::kHALF:
        return PluginFieldType::kFLOAT16;
      case DataType::kBF16:
        return PluginFieldType::kBF16;
      case DataType::kINT8:
        return PluginFieldType::kINT8;
      case DataType::kINT32:
        return PluginFieldType::kINT32;
      case DataType::kINT64:
        return PluginFieldType::kINT64;
      default:
        fail_import(Code::kUNSUPPORTED_NODE_ATTR,
                    "'{}' is a {} tensor, which a plugin field cannot hold", name, name_of(type));
    }
  }

  TensorSource& source_;
  std::vector<PluginField> fields_;
  std::vector<std::shared_ptr<std::byte>> memory_;
  std::vector<Tensor> tensors_;
};

// Whether a creator wants constant inputs as fields.
bool takes_weights(const PluginFieldCollection* declared) {
  const auto has = [&](const std::string_view name) {
    return declared != nullptr
           && std::any_of(
               declared->fields, declared->fields + declared->nbFields,
               [&](const PluginField& f) { return f.name != nullptr && f.name == name; });
  };
  return has(kWeights) && has(kWeightsShape);
}

Fields fields_for(NodeContext& n, const PluginFieldCollection* declared) {
  Fields fields(n.source());
  const Log& log = n.source().log;
  onnx::NodeProto& node = n.proto();
  for (int32_t i = 0; declared != nullptr && i < declared->nbFields; ++i) {
    const PluginField& field = declared->fields[i];
    if (field.name == nullptr) continue;
    n.ignore(field.name);  // also refuses an attribute given twice
    const auto found =
        std::find_if(node.mutable_attribute()->begin(), node.mutable_attribute()->end(),
                     [&](const AttributeProto& a) { return a.name() == field.name; });
    if (found != node.mutable_attribute()->end())
      fields.add(field, *found);
    else
      log.info("node '{}' ({}): attribute '{}' is not given; the plugin uses its default",
               n.node_name(), n.op(), field.name);
  }
  for (int i = 0; takes_weights(declared) && i < n.input_count(); ++i)
    if (n.has_input(i))
      if (const Tensor* constant = n.constant_input(i)) fields.add_weights(*constant);
  return fields;
}

std::vector<Value*> inputs_of(NodeContext& n, const PluginFieldCollection* declared) {
  std::vector<Value*> inputs;
  for (int i = 0; i < n.input_count(); ++i) {
    if (!n.has_input(i))
      fail_import(Code::kUNSUPPORTED_NODE_INPUT,
                  "input {} is left out; plugins with optional inputs are not supported yet", i);
    if (!takes_weights(declared) || n.constant_input(i) == nullptr) inputs.push_back(&n.input(i));
  }
  return inputs;
}

// Inputs that are shape tensors go last. Returns how many there are.
int move_shape_inputs(NodeContext& n, std::vector<Value*>& inputs) {
  std::vector<bool> is_shape(inputs.size());
  for (int64_t index : n.integers_in(kShapeInputs)) {
    require(index >= 0 && index < static_cast<int64_t>(inputs.size()),
            "attribute '{}' names input {}; there are {}", kShapeInputs, index, inputs.size());
    is_shape[static_cast<size_t>(index)] = true;
  }
  std::vector<Value*> ordered, shapes;
  for (size_t i = 0; i < inputs.size(); ++i) (is_shape[i] ? shapes : ordered).push_back(inputs[i]);
  ordered.insert(ordered.end(), shapes.begin(), shapes.end());
  inputs = std::move(ordered);
  return static_cast<int>(shapes.size());
}

// The plugin that a creator made, as a layer.
std::unique_ptr<Op> make_layer(NodeContext& n, nvinfer1::IPluginCreator& creator,
                               const Fields& fields, int /*shape_inputs*/) {
  const PluginFieldCollection collection = fields.collection();
  const std::unique_ptr<nvinfer1::IPluginV2, void (*)(nvinfer1::IPluginV2*)> plugin(
      creator.createPlugin(n.node_name().c_str(), &collection),
      [](nvinfer1::IPluginV2* p) { p->destroy(); });
  return plugin == nullptr ? nullptr : make_plugin_v2(*plugin);
}

std::unique_ptr<Op> make_layer(NodeContext& n, nvinfer1::IPluginCreatorV3One& creator,
                               const Fields& fields, int shape_inputs) {
  const PluginFieldCollection collection = fields.collection();
  const std::unique_ptr<nvinfer1::IPluginV3> plugin(
      creator.createPlugin(n.node_name().c_str(), &collection, nvinfer1::TensorRTPhase::kBUILD));
  return plugin == nullptr ? nullptr : make_plugin_v3(*plugin, shape_inputs);
}

void warn_of_other_namespace(NodeContext& n) {
  const onnx::NodeProto& node = n.proto();
  const std::string wanted = text_attribute(node, kNamespace, "");
  const std::string name = plugin_name(node), version = text_attribute(node, kVersion, "1");
  if (!wanted.empty()
      && plugin_registry().getCreator(name.c_str(), version.c_str(), wanted.c_str()) == nullptr)
    n.source().log.warning(
        "node '{}' ({}): there is no plugin '{}' version '{}' in the namespace '{}'; the one "
        "without a namespace is taken",
        n.node_name(), n.op(), name, version, wanted);
}

// What the creator declares; null is as good as nothing.
const PluginFieldCollection* declared_fields(const PluginFieldCollection* fields) {
  if (fields != nullptr && fields->nbFields != 0)
    require(fields->nbFields > 0 && fields->fields != nullptr,
            "the plugin's creator says that it has {} fields (getFieldNames) and gives none",
            fields->nbFields);
  return fields;
}

template <class Creator> void import_with(NodeContext& n, Creator& creator) {
  const PluginFieldCollection* declared = declared_fields(creator.getFieldNames());
  std::vector<Value*> inputs = inputs_of(n, declared);
  const int shape_inputs = move_shape_inputs(n, inputs);
  const PluginReports reports;
  std::unique_ptr<Op> op = make_layer(n, creator, fields_for(n, declared), shape_inputs);
  if (op == nullptr) {
    const std::string reason = reports.text();
    fail_import(Code::kINVALID_NODE,
                "the plugin creator '{}' made no plugin from this node's attributes{}",
                plugin_name(n.proto()), reason.empty() ? "; its own messages may say why" : reason);
  }
  if (op->output_count() < n.output_count())
    fail_import(Code::kINVALID_NODE, "the node has {} outputs, but the plugin makes {}",
                n.output_count(), op->output_count());
  Node& layer = n.add_node(std::move(op), std::move(inputs));
  for (int i = 0; i < n.output_count(); ++i)
    n.set_output(i, *layer.outputs[static_cast<size_t>(i)]);
}

}  // namespace

std::string plugin_name(const onnx::NodeProto& node) {
  return node.op_type() == kAnyPlugin ? text_attribute(node, kName, kAnyPlugin) : node.op_type();
}

nvinfer1::IPluginCreatorInterface* creator_for(const onnx::NodeProto& node) {
  return find_creator(plugin_name(node), text_attribute(node, kVersion, "1"),
                      text_attribute(node, kNamespace, ""));
}

std::string explain_missing_creator(const onnx::NodeProto& node) {
  return explain_missing(plugin_name(node), text_attribute(node, kVersion, "1"),
                         text_attribute(node, kNamespace, ""));
}

void import_plugin(NodeContext& n, nvinfer1::IPluginCreatorInterface& creator) {
  n.text(kVersion, "");
  n.text(kNamespace, "");
  if (n.op() == kAnyPlugin) n.text(kName, "");
  warn_of_other_namespace(n);
  const std::string kind = creator.getInterfaceInfo().kind;
  if (kind == "PLUGIN CREATOR_V1")
    import_with(n, static_cast<nvinfer1::IPluginCreator&>(creator));
  else if (kind == "PLUGIN CREATOR_V3ONE")
    import_with(n, static_cast<nvinfer1::IPluginCreatorV3One&>(creator));
  else
    fail_import(Code::kUNSUPPORTED_NODE, "plugin creators of kind '{}' are not supported yet",
                kind);
}

}  // namespace tenon
