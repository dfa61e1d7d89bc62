#include "edit/engine_model.h"

#include <google/protobuf/arena.h>
#include <onnx_schema.pb.h>
#include <tenon/printable.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "edit/graph_uses.h"
#include "edit/values.h"
#include "edit/wire.h"
#include "import/parsed_model.h"

namespace tenon::edit {
namespace {

namespace fs = std::filesystem;

std::string engine_name(Id node) {
  return 'n' + std::to_string(node);
}

Id node_of(const std::string& engine_name) {
  Id id = kNone;
  std::from_chars(engine_name.data() + 1, engine_name.data() + engine_name.size(), id);
  return id;
}

template <class Message> void parse(Message& message, std::string_view bytes) {
  require(bytes.size() <= INT_MAX
              && message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())),
          "a part of the model is damaged, or larger than 2 GiB");
}

void name_nodes(const Store& store, Id graph, onnx::GraphProto& proto);

// Nodes are called by their ids, also those of graphs inside.
void name_node(const Store& store, Id id, onnx::NodeProto& proto) {
  proto.set_name(engine_name(id));
  const auto& attributes = store.node(id).attributes;
  for (int i = 0; i < proto.attribute_size() && static_cast<size_t>(i) < attributes.size(); ++i) {
    const std::vector<Id>& graphs = attributes[static_cast<size_t>(i)].graphs;
    onnx::AttributeProto& attribute = *proto.mutable_attribute(i);
    if (attribute.has_g() && graphs.size() == 1)
      name_nodes(store, graphs[0], *attribute.mutable_g());
    else if (std::cmp_equal(attribute.graphs_size(), graphs.size()))
      for (int k = 0; k < attribute.graphs_size(); ++k)
        name_nodes(store, graphs[static_cast<size_t>(k)], *attribute.mutable_graphs(k));
  }
}

void name_nodes(const Store& store, Id graph, onnx::GraphProto& proto) {
  const std::vector<Id> ids = store.items(graph, Kind::kNode);
  for (int i = 0; i < proto.node_size() && static_cast<size_t>(i) < ids.size(); ++i)
    name_node(store, ids[static_cast<size_t>(i)], *proto.mutable_node(i));
}

void add_node(const Store& store, Id id, onnx::GraphProto& graph) {
  onnx::NodeProto& proto = *graph.add_node();
  const auto& attributes = store.node(id).attributes;
  if (std::ranges::all_of(attributes, [](const auto& each) { return each.graphs.empty(); }))
    parse(proto, store.content(id).fields);
  else
    parse(proto, store.message(id));
  name_node(store, id, proto);
}

// Whether tensors can be named as parts of the model's own file, which spares a copy of them.
bool is_own_file_readable(const Store& store) {
  std::error_code error;
  const std::string name = fs::path(store.path()).filename().string();
  return !name.empty() && name.find_first_of(":\\") == std::string::npos
         && fs::is_regular_file(store.path(), error)
         && fs::file_size(store.path(), error) == store.file().size()
         && fs::hard_link_count(store.path(), error) == 1;
}

std::string as_own_file(const Store& store, std::string_view fields, std::string_view raw) {
  std::string reference;
  Records records(fields);
  while (const auto record = records.next())
    if (record->field != 9) reference += record->whole;
  const auto entry = [&](const char* key, const std::string& value) {
    std::string message;
    append_bytes(message, 1, key);
    append_bytes(message, 2, value);
    append_bytes(reference, 13, message);
  };
  entry("location", fs::path(store.path()).filename().string());
  entry("offset", std::to_string(raw.data() - store.file().data()));
  entry("length", std::to_string(raw.size()));
  append_number(reference, 14, 1);
  return reference;
}

void add_initializer(const Store& store, Id id, bool own_file, onnx::GraphProto& graph) {
  constexpr size_t kSmall = 4096;
  const StoredTensor stored = stored_tensor(store.content(id));
  const bool is_in_file = stored.raw && stored.raw->data() >= store.file().data()
                          && stored.raw->data() < store.file().data() + store.file().size();
  onnx::TensorProto& proto = *graph.add_initializer();
  if (own_file && is_in_file && stored.raw->size() > kSmall)
    parse(proto, as_own_file(store, store.content(id).fields, *stored.raw));
  else
    parse(proto, store.message(id));
}

void fill(const Store& store, const EngineModel& model, onnx::ModelProto& proto) {
  onnx::GraphProto& graph = *proto.mutable_graph();
  graph.set_name("graph");
  for (const Id id : model.nodes) add_node(store, id, graph);
  const bool own_file = is_own_file_readable(store);
  for (const Id id : model.initializers) add_initializer(store, id, own_file, graph);
  for (const std::string& input : model.inputs) parse(*graph.add_input(), input);
  for (const std::string& output : model.outputs) parse(*graph.add_output(), output);
  for (const Id id : store.items(0, Kind::kOpset))
    parse(*proto.add_opset_import(), store.message(id));
  for (const Id id : store.items(0, Kind::kFunction))
    parse(*proto.add_functions(), store.message(id));
}

bool is_inexact(const TensorType& type) {
  return !is_exact(type.element);
}

bool makes_inexact(const NodeContent& node) {
  for (const char* attribute : {"to", "dtype", "output_dtype"})
    if (node.find(attribute) != nullptr)
      return !is_exact(static_cast<int32_t>(integer_attribute(node, attribute, kFloat32)));
  const AttributeContent* value = node.find("value");
  const std::string_view tensor =
      value == nullptr ? std::string_view() : bytes_field(value->bytes, 5);
  return !tensor.empty() && !is_exact(static_cast<int32_t>(number_field(tensor, 2)));
}

}  // namespace

const std::vector<tenon::Value*>* Imported::outputs_of(Id node) const {
  const auto found = report.node_outputs.find(engine_name(node));
  return found == report.node_outputs.end() ? nullptr : &found->second;
}

const std::vector<std::optional<InnerTensor>>* Imported::inner_outputs_of(Id node) const {
  const auto found = report.inner_outputs.find(engine_name(node));
  return found == report.inner_outputs.end() ? nullptr : &found->second;
}

std::string with_node_names(const Store& store, const std::string& message) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  std::string text;
  for (size_t at = 0; at < message.size();) {
    Id id = kNone;
    const bool begins = message[at] == 'n' && (at == 0 || !is_part(message[at - 1]));
    const auto [end, error] = std::from_chars(message.data() + at + (begins ? 1 : 0),
                                              message.data() + message.size(), id);
    const bool is_name = begins && error == std::errc() && id < store.item_count()
                         && store.item(id).kind == Kind::kNode
                         && (end == message.data() + message.size() || !is_part(*end));
    if (!is_name) {
      text += message[at++];
      continue;
    }
    text += printable(shown_name(store, id));
    at = static_cast<size_t>(end - message.data());
  }
  return text;
}

void import_nodes(Store& store, const EngineModel& model, Imported& imported) {
  ImportOptions options;
  options.model_path = store.path();
  options.max_nodes = std::max(options.max_nodes, 2 * model.nodes.size() + 1000);
  if (model.second_input)
    options.second_input = [&](const std::string& name, const tenon::Value& first) {
      return model.second_input(node_of(name), first);
    };
  google::protobuf::Arena arena;
  auto& proto = *google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&arena);
  try {
    fill(store, model, proto);
  } catch (const Error& e) {
    imported.report.problems.push_back({nvonnxparser::ErrorCode::kINVALID_GRAPH,
                                        e.what(),
                                        -1,
                                        "",
                                        "",
                                        ErrorClass::kModelFile,
                                        {}});
    return;
  }
  try {
    import_parsed(proto, options, imported.network, imported.report);
  } catch (const Error&) {  // what could be imported is there, each layer with its shapes
  }
}

namespace {

void add_inexact(const Store& store, Id graph, std::unordered_set<std::string_view>& names) {
  const bool has_types = store.container(graph).kind == Container::Kind::kGraph;
  for (const Id id : has_types ? store.items(graph, Kind::kInput) : std::vector<Id>())
    if (const auto type = tensor_type(store.content(id).fields); type && is_inexact(*type))
      names.insert(store.content(id).name);
  for (const Id id : store.items(graph, Kind::kInitializer))
    if (!is_exact(static_cast<int32_t>(number_field(store.content(id).fields, 2))))
      names.insert(store.content(id).name);
  for (const Id id : store.items(graph, Kind::kNode)) {
    const NodeContent& node = store.node(id);
    bool is_inexact = makes_inexact(node);
    const bool is_cast =
        node.op_type == "Cast" || node.op_type == "Shape" || node.op_type == "Size";
    if (!is_cast && !names.empty())
      for (const std::string_view read : reads_of(store, id)) is_inexact |= names.contains(read);
    for (const AttributeContent& attribute : node.attributes)
      for (const Id inner : attribute.graphs) {
        add_inexact(store, inner, names);
        for (const Id output : store.items(inner, Kind::kOutput))
          is_inexact |= names.contains(store.content(output).name);
      }
    if (is_inexact) names.insert(node.outputs.begin(), node.outputs.end());
  }
}

}  // namespace

std::unordered_set<std::string_view> inexact_values(const Store& store) {
  std::unordered_set<std::string_view> names;
  add_inexact(store, store.graph(), names);
  for (const Id function : store.functions()) add_inexact(store, function, names);
  return names;
}

}  // namespace tenon::edit
