#include "import/graph.h"

#include <onnx_schema.pb.h>

#include <algorithm>

#include "base/text.h"
#include "import/plugin_node.h"
#include "import/stand_ins.h"
#include "onnx_model/node_order.h"

namespace tenon {
namespace {

using Code = nvonnxparser::ErrorCode;

constexpr size_t kDeepestFunction = 32;
constexpr int kDeepestGraph = 64;  // graphs inside graphs

std::string qualified(const onnx::NodeProto& node) {
  return qualified_operator(node.domain(), node.op_type());
}

[[noreturn]] void fail_unknown(const onnx::NodeProto& node, int64_t opset) {
  if (!is_utf8(node.op_type()) || !is_utf8(node.domain()) || !is_utf8(node.name()))
    fail_import(Code::kINVALID_NODE, "its name or operator is not valid UTF-8");
  if (node.op_type().empty()) fail_import(Code::kINVALID_NODE, "it names no operator");
  if (is_standard(node.domain()) && opset == 0)
    fail_import(Code::kINVALID_GRAPH, "opset_import does not name the standard domain");
  if (operator_is_known(qualified(node)))
    fail_import(Code::kUNSUPPORTED_NODE, "operator '{}' does not exist in opset {}",
                qualified(node), opset);
  fail_import(Code::kUNSUPPORTED_NODE, "operator '{}' is not supported yet, and {}",
              qualified(node), explain_missing_creator(node));
}

// MMCV's exporter gives its plugin of that name as attributes what are inputs of ONNX's operator.
bool has_attributes_of_plugin(const onnx::NodeProto& node) {
  const auto& list = node.attribute();
  return node.op_type() == "NonMaxSuppression"
         && std::any_of(list.begin(), list.end(), [](const onnx::AttributeProto& a) {
              return a.name() == "max_output_boxes_per_class";
            });
}

std::vector<Value*> tensors_among(const std::vector<Item>& items) {
  std::vector<Value*> tensors;
  for (const Item& item : items)
    tensors.push_back(as_sequence(item) == nullptr ? std::get<Value*>(item) : nullptr);
  return tensors;
}

}  // namespace

void require_fewer(int64_t nodes, size_t max_nodes) {
  require(nodes <= static_cast<int64_t>(std::min<size_t>(max_nodes, INT64_MAX)),
          "the model has more nodes than are allowed ({}, counting those of functions at each "
          "call); if that is intended, allow more with TENON_IMPORT_NODES or "
          "tenon::set_import_node_limit()",
          max_nodes);
}

std::string shown_name(const onnx::NodeProto& node, int index) {
  return node.name().empty() ? fmt::format("{}_{}", one_line(node.op_type()), index)
                             : one_line(node.name());
}

std::string GraphImporter::unique_name(const Scope& scope, const onnx::NodeProto& node, int index) {
  const std::string base = scope.prefix + shown_name(node, index);
  std::string name = base;
  for (int i = 1; !node_names_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

GraphImporter::Meaning GraphImporter::meaning_of(const onnx::NodeProto& node, int64_t opset) const {
  Meaning m;
  m.function = functions_.find(node);
  if (m.function != nullptr) return m;
  m.row = find_row(qualified(node), opset);
  if (m.row == nullptr || options_.prefer_plugins || has_attributes_of_plugin(node))
    m.creator = creator_for(node);
  return m;
}

void GraphImporter::require_meaning(const Scope& scope, const onnx::NodeProto& node) const {
  const int64_t opset = scope.opset_of(node);
  const Meaning m = meaning_of(node, opset);
  if (m.row == nullptr && m.creator == nullptr && m.function == nullptr) fail_unknown(node, opset);
}

// The graphs of one node.
class GraphImporter::Graphs final : public BodyImporter {
 public:
  Graphs(GraphImporter& importer, Scope& scope, std::string name)
      : importer_(importer), scope_(scope), name_(std::move(name)) {}
  Body import_body(onnx::GraphProto& graph, std::span<const BodyInput> own,
                   std::span<const BodyInput> inputs,
                   const std::vector<Value*>& captured) override {
    return importer_.import_body(scope_, name_, graph, own, inputs, captured);
  }
  std::vector<Item> inline_body(onnx::GraphProto& graph) override {
    return importer_.inline_body(scope_, name_, graph);
  }

 private:
  GraphImporter& importer_;
  Scope& scope_;
  std::string name_;
};

bool GraphImporter::import_node(Scope& scope, onnx::NodeProto& node, int index) {
  require_fewer(++imported_nodes_, options_.max_nodes);
  if (node.output_size() == 0) fail_import(Code::kINVALID_NODE, "it has no outputs");
  std::vector<Item> inputs;
  for (const std::string& name : node.input()) {
    inputs.push_back(name.empty() ? Item() : scope.find(name));
    if (is_null(inputs.back()) && !name.empty()) return false;
  }
  const int64_t opset = scope.opset_of(node);
  const Meaning m = meaning_of(node, opset);
  const std::string name = unique_name(scope, node, index);
  if (m.function != nullptr) {
    call_function(scope, node, *m.function, name, inputs);
    return true;
  }
  Graphs graphs(*this, scope, name);
  NodeContext n(*scope.state, node, name, opset, std::move(inputs), scope.weights->tensors, graphs);
  import_operator(scope, n, m);
  finish_node(scope, n);
  return true;
}

void GraphImporter::import_operator(Scope& scope, NodeContext& n, const Meaning& m) {
  if (m.creator == nullptr && m.row == nullptr) fail_unknown(n.proto(), scope.opset_of(n.proto()));
  if (m.creator != nullptr) {
    import_plugin(n, *m.creator);
    const std::string plugin = plugin_name(n.proto());
    if (std::find(report_.plugins.begin(), report_.plugins.end(), plugin) == report_.plugins.end())
      report_.plugins.push_back(plugin);
  } else {
    warn_of_doubles(n);
    require_sound_stand_ins(n);
    m.row(n);
    finish_stand_ins(n);
  }
  for (const std::string& attribute : n.unused_attributes())
    options_.log.warning("node '{}' ({}): attribute '{}' is not used{}", n.node_name(), n.op(),
                         attribute, m.row == nullptr ? ": the plugin does not declare it" : "");
}

// Once for a model: inputs and outputs say it of themselves.
void GraphImporter::warn_of_doubles(NodeContext& n) {
  const auto is_double = [&](Value* v) {
    return v != nullptr && n.model_type(*v) == onnx::TensorProto::DOUBLE;
  };
  const auto inputs = tensors_among(n.inputs());
  const bool computes = type_in_attributes(n.proto()) == onnx::TensorProto::DOUBLE
                        || std::any_of(inputs.begin(), inputs.end(), is_double);
  if (!computes || std::exchange(warned_of_doubles_, true)) return;
  options_.log.warning(
      "node '{}' ({}) is the first that computes in float64 in the model; float64 is float32 here",
      n.node_name(), n.op());
}

void GraphImporter::finish_node(Scope& scope, NodeContext& n) {
  const onnx::NodeProto& node = n.proto();
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    const Item& item = n.outputs()[static_cast<size_t>(i)];
    if (is_null(item))
      scope.missing_outputs[node.output(i)] =
          fmt::format("output {} ('{}') of node '{}' ({}) is not supported yet", i, node.output(i),
                      n.node_name(), n.op());
    else
      scope.items[node.output(i)] = item;
  }
  name_layers(n);
  if (&scope.state->network == &network_)
    report_.node_outputs[n.node_name()] = tensors_among(n.outputs());
}

// Tensors get the names that the model gives them; the layer that makes the first, the node's name.
void GraphImporter::name_layers(NodeContext& n) {
  const auto tensors = tensors_among(n.outputs());
  const std::unordered_set<const Node*> added(n.added().begin(), n.added().end());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string& name = n.proto().output(static_cast<int>(i));
    if (tensors[i] == nullptr || name.empty()) continue;
    if (added.contains(tensors[i]->producer) && named_.insert(tensors[i]).second)
      tensors[i]->name = name;
  }
  for (Node* layer : n.added())
    if (!tensors.empty() && tensors[0] != nullptr && tensors[0]->producer == layer)
      layer->name = n.node_name();
}

Scope GraphImporter::inner_scope(Scope& outer, const std::string& name, onnx::GraphProto& graph) {
  require(outer.depth < kDeepestGraph, "graphs are nested more than {} deep", kDeepestGraph);
  Scope scope;
  scope.state = outer.state;
  scope.weights = outer.weights;
  scope.outer = &outer;
  scope.depth = outer.depth + 1;
  scope.opset = outer.opset;
  scope.other_opsets = outer.other_opsets;
  scope.prefix = name + "/";
  scope.functions = outer.functions;
  list_initializers(graph, scope);
  return scope;
}

std::vector<Item> GraphImporter::import_graph(Scope& scope, onnx::GraphProto& graph) {
  std::vector<Item> outputs;
  with_context(fmt::format("graph '{}'", graph.name()), [&] {
    for (int i : node_order(graph.node())) {
      onnx::NodeProto& node = *graph.mutable_node(i);
      with_context(fmt::format("node '{}' ({})", shown_name(node, i), qualified(node)),
                   [&] { require(import_node(scope, node, i), "an input could not be imported"); });
    }
    for (const auto& output : graph.output()) {
      outputs.push_back(scope.find(output.name()));
      require(!is_null(outputs.back()), "output '{}' could not be imported", output.name());
    }
  });
  return outputs;
}

std::vector<Item> GraphImporter::inline_body(Scope& outer, const std::string& name,
                                             onnx::GraphProto& graph) {
  require(graph.input_size() == 0, "graph '{}' has {} inputs; expected none", graph.name(),
          graph.input_size());
  Scope scope = inner_scope(outer, name, graph);
  return import_graph(scope, graph);
}

Body GraphImporter::import_body(Scope& outer, const std::string& name, onnx::GraphProto& graph,
                                std::span<const BodyInput> own, std::span<const BodyInput> inputs,
                                const std::vector<Value*>& captured) {
  require(static_cast<size_t>(graph.input_size()) == inputs.size(),
          "graph '{}' has {} inputs; the node gives it {}", graph.name(), graph.input_size(),
          inputs.size());
  Body body;
  body.network = std::make_shared<Network>();
  body.network->name = graph.name().empty() ? name : graph.name();
  body.state = std::make_shared<ImportState>(*body.network);
  body.state->constant_budget = outer.state->constant_budget;
  Scope scope = inner_scope(outer, name, graph);
  scope.state = body.state.get();
  scope.body = &body;
  for (size_t i = 0; i < own.size(); ++i)
    body.network->add_input(fmt::format("{} [{}]", name, i), own[i].type, own[i].declared,
                            own[i].dimension_names);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& input = graph.input(static_cast<int>(i)).name();
    check_name(input, "an input of a graph");
    require(!scope.items.contains(input), "two inputs of graph '{}' are called '{}'", graph.name(),
            input);
    Value* tensor = nullptr;
    if (!inputs[i].sequence)
      tensor = &body.network->add_input(unused_input_name(*body.network, input), inputs[i].type,
                                        inputs[i].declared, inputs[i].dimension_names);
    scope.items[input] = tensor;
  }
  // What is captured follows the other inputs.
  for (size_t i = 0; i < inputs.size(); ++i) {
    Item& item = scope.items[graph.input(static_cast<int>(i)).name()];
    if (inputs[i].sequence) item = scope.captured(*inputs[i].sequence);
    body.inputs.push_back(item);
  }
  for (Value* value : captured) scope.captured(value);
  body.outputs = import_graph(scope, graph);
  for (size_t i = 0; i < body.outputs.size(); ++i)
    for (const Value* v : tensors_in(body.outputs[i])) {
      const int32_t type = v == nullptr ? 0 : Layers(*body.state, "").model_type(*v);
      if (is_stand_in(type))
        fail_import(Code::kUNSUPPORTED_NODE_DATATYPE,
                    "not supported yet: graph '{}' makes {} (output '{}')", graph.name(),
                    onnx_type_name(type), graph.output(static_cast<int>(i)).name());
    }
  return body;
}

void GraphImporter::call_function(Scope& caller, onnx::NodeProto& node,
                                  const onnx::FunctionProto& function, const std::string& name,
                                  const std::vector<Item>& inputs) {
  require(caller.functions.size() < kDeepestFunction,
          "functions call each other more than {} deep: they recurse, or the model is damaged",
          kDeepestFunction);
  if (static_cast<int>(inputs.size()) > function.input_size())
    fail_import(Code::kINVALID_NODE, "it has {} inputs; function '{}' takes {}", inputs.size(),
                function.name(), function.input_size());
  Scope body;
  body.state = caller.state;
  body.weights = caller.weights;
  body.depth = caller.depth;
  body.set_opsets(function.opset_import());
  body.prefix = name + "/";
  body.functions = caller.functions;
  body.functions.push_back(qualified(node));
  for (size_t i = 0; i < inputs.size(); ++i)
    body.items[function.input(static_cast<int>(i))] = inputs[i];
  around_ = body.functions;
  for (int i : node_order(function.node())) {
    onnx::NodeProto copy = substituted(function.node(i), node, function);
    for (std::string& input : *copy.mutable_input()) {  // optional inputs of the function
      const auto it = body.items.find(input);
      if (it != body.items.end() && is_null(it->second)) input.clear();
    }
    with_context(fmt::format("in function '{}', node '{}' ({})", function.name(),
                             shown_name(copy, i), qualified(copy)),
                 [&] { import_node(body, copy, i); });
  }
  around_ = caller.functions;
  for (int i = 0; i < node.output_size(); ++i) {
    require(i < function.output_size(), "it has {} outputs; function '{}' makes {}",
            node.output_size(), function.name(), function.output_size());
    if (!node.output(i).empty()) caller.items[node.output(i)] = body.find(function.output(i));
  }
}

}  // namespace tenon
