#include "edit/show.h"

#include <fmt/ranges.h>
#include <tenon/onnx.h>
#include <tenon/printable.h>

#include <nlohmann/json.hpp>

#include "edit/attributes.h"
#include "edit/shapes.h"
#include "edit/values.h"
#include "edit/wire.h"

namespace tenon::edit {
namespace {

using nlohmann::json;

constexpr uint32_t kNodeDocumentation = 6, kNodeMetadata = 9;  // fields of NodeProto

std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names)
    text += fmt::format("{}{}", text.empty() ? "" : ", ",
                        name.empty() ? "-" : printable(std::string(name)));
  return text;
}

// Of tensors the type, which needs no elements.
std::string attribute_text(Store& store, const AttributeContent& attribute) {
  if (!attribute.graphs.empty()) return "graph";
  const std::string_view tensor = bytes_field(attribute.bytes, 5);
  if (tensor.empty()) return text_of(value_of(store, attribute));
  const StoredTensor stored = stored_tensor(tensor);
  TensorType type{stored.type, true, {}};
  for (const int64_t extent : stored.dims) type.shape.push_back({extent, ""});
  return text_of(type);
}

std::string type_text(const std::optional<TensorType>& type) {
  return type ? text_of(*type) : "?";
}

std::optional<TensorType> type_of_value(const Store& store, Id graph, std::string_view name,
                                        const TypesOfGraphs& types) {
  const Id id = store.type_of(graph, name);
  const auto stored = id == kNone ? std::nullopt : tensor_type(store.content(id).fields);
  if (stored && stored->has_shape) return stored;
  const auto of_graph = types.find(graph);
  if (of_graph == types.end()) return stored;
  const auto found = of_graph->second.find(name);
  return found != of_graph->second.end() ? found->second : stored;
}

class Show {
 public:
  Show(Store& store, const ShowOptions& options) : store_(store), options_(options) {
    if (!options.shapes) return;
    Inference inference = infer(store);
    types_ = std::move(inference.types);
    std::erase_if(types_, [&](const auto& of_graph) {
      return of_graph.first != store.graph() && contradicts(store, of_graph.first, of_graph.second);
    });
  }

  std::string text() {
    header();
    graph(store_.graph(), 0);
    for (const Id function : store_.functions()) graph(function, 0);
    return std::move(text_);
  }

  json tree() {
    json model = {{"irVersion", ir_version(store_)},
                  {"producer", std::string(bytes_field(store_.file(), 2))},
                  {"opsets", opsets_tree(0)},
                  {"metadata", json::object()},
                  {"graph", graph_tree(store_.graph())},
                  {"functions", json::array()}};
    const Id owner = store_.container(store_.graph()).owner;
    model["graph"]["name"] = std::string(bytes_field(store_.content(owner).fields, 2));
    for (const Id id : store_.items(0, Kind::kMetadata))
      model["metadata"][std::string(store_.content(id).name)] =
          std::string(bytes_field(store_.content(id).fields, 2));
    for (const Id function : store_.functions()) {
      json tree = graph_tree(function);
      tree["name"] = std::string(store_.content(store_.container(function).owner).name);
      tree["opsets"] = opsets_tree(function);
      model["functions"].push_back(std::move(tree));
    }
    return model;
  }

 private:
  static std::string domain(std::string_view name) {
    return name.empty() ? "ai.onnx" : std::string(name);
  }

  void header() {
    std::string opsets;
    for (const Id id : store_.items(0, Kind::kOpset))
      opsets += fmt::format("{}{} {}", opsets.empty() ? "" : ", ",
                            printable(domain(store_.content(id).name)),
                            number_field(store_.content(id).fields, 2));
    text_ += fmt::format("IR version {}, opset {}, from {} {}\n", ir_version(store_),
                         opsets.empty() ? "none" : opsets,
                         printable(std::string(bytes_field(store_.file(), 2))),
                         printable(std::string(bytes_field(store_.file(), 3))));
    for (const Id id : store_.items(0, Kind::kMetadata))
      text_ += fmt::format("  {} = {}\n", printable(std::string(store_.content(id).name)),
                           printable(std::string(bytes_field(store_.content(id).fields, 2))));
  }

  void values(Id graph, Kind kind, const char* label, const std::string& margin) {
    for (const Id id : store_.items(graph, kind)) {
      const std::string_view name = store_.content(id).name;
      text_ += fmt::format("{}  {} {}  {}\n", margin, label, printable(std::string(name)),
                           type_text(type_of_value(store_, graph, name, types_)));
    }
  }

  void graph(Id graph, size_t depth) {
    const std::string margin(2 * depth, ' ');
    uint64_t bytes = 0;
    const auto initializers = store_.items(graph, Kind::kInitializer);
    for (const Id id : initializers) bytes += stored_tensor(store_.content(id)).stored_bytes();
    const auto nodes = store_.items(graph, Kind::kNode);
    text_ += fmt::format("{}{}: {} nodes, {} initializers ({:.2f} MiB)\n", margin,
                         printable(store_.place(graph)), nodes.size(), initializers.size(),
                         static_cast<double>(bytes) / (1 << 20));
    values(graph, Kind::kInput, "input ", margin);
    values(graph, Kind::kOutput, "output", margin);
    if (options_.constants)
      for (const Id id : initializers) {
        const StoredTensor stored = stored_tensor(store_.content(id));
        text_ += fmt::format(
            "{}  initializer {}  {}[{}]{}\n", margin, printable(std::string(stored.name)),
            onnx_type_name(stored.type), fmt::join(stored.dims, ","),
            stored.is_external ? " in " + printable(std::string(stored.location)) : "");
      }
    for (const Id id : nodes) {
      text_ += margin + "  " + node_line(store_, id);
      if (const auto& outputs = store_.node(id).outputs; options_.shapes && !outputs.empty())
        text_ += "  " + type_text(type_of_value(store_, graph, outputs[0], types_));
      text_ += '\n';
      for (const AttributeContent& attribute : store_.node(id).attributes)
        for (const Id inner : attribute.graphs) this->graph(inner, depth + 2);
    }
  }

  json value_tree(Id graph, std::string_view name) {
    json tree = {{"name", std::string(name)}};
    const auto type = type_of_value(store_, graph, name, types_);
    if (!type) return tree;
    tree["type"] = onnx_type_name(type->element);
    if (!type->has_shape) return tree;
    tree["shape"] = json::array();
    for (const Extent& extent : type->shape)
      if (extent.is_known())
        tree["shape"].push_back(extent.value);
      else if (extent.name.empty())
        tree["shape"].push_back(nullptr);
      else
        tree["shape"].push_back(extent.name);
    return tree;
  }

  json values_tree(Id graph, Kind kind) {
    json tree = json::array();
    for (const Id id : store_.items(graph, kind))
      tree.push_back(value_tree(graph, store_.content(id).name));
    return tree;
  }

  json node_tree(Id graph, Id id) {
    const NodeContent& node = store_.node(id);
    json tree = {{"name", std::string(store_.content(id).name)},
                 {"operator", std::string(node.op_type)},
                 {"domain", std::string(node.domain)},
                 {"inputs", node.inputs},
                 {"outputs", json::array()},
                 {"attributes", json::object()}};
    // What exporters leave: calls of PyTorch's program.
    if (const auto text = bytes_field(node.others, kNodeDocumentation); !text.empty())
      tree["documentation"] = std::string(text);
    Records others(node.others);
    while (const auto record = others.next())
      if (record->field == kNodeMetadata)
        tree["metadata"][std::string(bytes_field(record->payload, 1))] =
            std::string(bytes_field(record->payload, 2));
    for (const std::string_view output : node.outputs)
      tree["outputs"].push_back(value_tree(graph, output));
    for (const AttributeContent& attribute : node.attributes) {
      json& value = tree["attributes"][std::string(attribute.name)];
      for (const Id inner : attribute.graphs) value.push_back(graph_tree(inner));
      if (!attribute.graphs.empty()) continue;
      if (bytes_field(attribute.bytes, 5).empty())
        value = attribute_tree(value_of(store_, attribute));
      else
        value = attribute_text(store_, attribute);
    }
    return tree;
  }

  json opsets_tree(Id container) const {
    json tree = json::object();
    for (const Id id : store_.items(container, Kind::kOpset))
      tree[domain(store_.content(id).name)] = number_field(store_.content(id).fields, 2);
    return tree;
  }

  static json attribute_tree(const AttributeValue& value) {
    if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
    if (const auto* real = std::get_if<float>(&value)) return *real;
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* integers = std::get_if<std::vector<int64_t>>(&value)) return *integers;
    if (const auto* reals = std::get_if<std::vector<float>>(&value)) return *reals;
    if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) return *texts;
    return text_of(value);
  }

  json graph_tree(Id graph) {
    json tree = {{"inputs", values_tree(graph, Kind::kInput)},
                 {"outputs", values_tree(graph, Kind::kOutput)},
                 {"initializers", json::array()},
                 {"nodes", json::array()}};
    for (const Id id : store_.items(graph, Kind::kInitializer)) {
      const StoredTensor stored = stored_tensor(store_.content(id));
      json row = {{"name", std::string(stored.name)},
                  {"type", onnx_type_name(stored.type)},
                  {"shape", stored.dims},
                  {"bytes", stored.stored_bytes()}};
      if (stored.is_external) row["location"] = std::string(stored.location);
      tree["initializers"].push_back(std::move(row));
    }
    for (const Id id : store_.items(graph, Kind::kNode))
      tree["nodes"].push_back(node_tree(graph, id));
    return tree;
  }

  Store& store_;
  const ShowOptions& options_;
  TypesOfGraphs types_;  // by graph
  std::string text_;
};

}  // namespace

std::string node_line(Store& store, Id id) {
  const NodeContent& node = store.node(id);
  std::string line = printable(std::string(node.op_type));
  if (!is_standard_node(node))
    line = fmt::format("{}::{}", printable(std::string(node.domain)), line);
  if (const std::string_view name = store.content(id).name; !name.empty())
    line += fmt::format(" '{}'", printable(std::string(name)));
  line += fmt::format(" ({}) -> {}", joined(node.inputs), joined(node.outputs));
  std::string attributes;
  for (const AttributeContent& attribute : node.attributes)
    attributes += fmt::format(" {}={}", printable(std::string(attribute.name)),
                              attribute_text(store, attribute));
  return attributes.empty() ? line : line + " " + attributes;
}

std::string show_text(const Model& model, const ShowOptions& options) {
  return Show(model.store(), options).text();
}

std::string show_json(const Model& model, const ShowOptions& options) {
  return Show(model.store(), options).tree().dump(2, ' ', false, json::error_handler_t::replace)
         + "\n";
}

}  // namespace tenon::edit
