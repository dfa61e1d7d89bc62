#include "import/graph.h"

#include <onnx_schema.pb.h>

#include <algorithm>

#include "base/text.h"
#include "import/float64.h"
#include "import/plugin_node.h"
#include "import/stand_ins.h"

namespace tenon {
namespace {

using Code = nvonnxparser::ErrorCode;

constexpr size_t kDeepestFunction = 32;
constexpr int kDeepestGraph = 64;  // graphs inside graphs
// Bodies that go on with what is behind their node. Each conditional in a row may double them.
constexpr int kMaxBranches = 4096;

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
    tensors.push_back(std::holds_alternative<Value*>(item) ? std::get<Value*>(item) : nullptr);
  return tensors;
}

InnerTensor inner_tensor(const Value& value) {
  InnerTensor tensor{value.type, std::vector<int64_t>()};
  for (const Dim extent : value.dims)
    tensor.extents->push_back(extent->is_integer_constant() ? extent->value.integer : -1);
  return tensor;
}

// What holds of both.
std::optional<InnerTensor> common(std::optional<InnerTensor> a,
                                  const std::optional<InnerTensor>& b) {
  if (!a || !b || a->type != b->type) return std::nullopt;
  if (!a->extents || !b->extents || a->extents->size() != b->extents->size()) {
    a->extents.reset();
    return a;
  }
  for (size_t i = 0; i < a->extents->size(); ++i)
    if ((*a->extents)[i] != (*b->extents)[i]) (*a->extents)[i] = -1;
  return a;
}

std::vector<std::string> output_names(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const auto& output : graph.output()) names.push_back(output.name());
  return names;
}

// A graph inside a node makes tensors of TensorRT's types.
void require_own_types(const Body& body, const std::vector<std::string>& names) {
  const Layers layers(*body.state, "");
  for (size_t i = 0; i < body.outputs.size(); ++i)
    for (const Value* v : tensors_in(body.outputs[i])) {
      const int32_t type = v == nullptr ? 0 : layers.model_type(*v);
      if (is_stand_in(type))
        fail_import(Code::kUNSUPPORTED_NODE_DATATYPE,
                    "not supported yet: graph '{}' makes {} (output '{}')", body.network->name,
                    onnx_type_name(type), names[i]);
    }
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

GraphImporter::GraphImporter(const onnx::ModelProto& model, const ImportOptions& options,
                             const Network& network, ImportReport& report)
    : functions_(model), options_(options), network_(network), report_(report) {
  const auto count = static_cast<size_t>(model.graph().node_size());
  node_names_.reserve(count);
  named_.reserve(count);
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
  Graphs(GraphImporter& importer, Scope& scope, const onnx::NodeProto& node, std::string name)
      : importer_(importer), scope_(scope), node_(node), name_(std::move(name)) {}
  Body import_body(onnx::GraphProto& graph, std::span<const BodyInput> own,
                   std::span<const BodyInput> inputs,
                   const std::vector<Value*>& captured) override {
    return importer_.import_body(scope_, name_, graph, own, inputs, captured);
  }
  std::vector<Item> inline_body(onnx::GraphProto& graph, const std::vector<Item>& inputs) override {
    return importer_.inline_body(scope_, name_, graph, inputs);
  }
  NodeList take_followers() override {
    NodeList followers = scope_.nodes->take_followers();
    // They may read what other nodes make that come later.
    while (scope_.nodes->next()) scope_.import_current();
    return followers;
  }
  void capture(Body& body, const std::vector<Value*>& around) override {
    body.scope->body = &body;
    for (Value* value : around) body.scope->captured(value);
  }
  void go_on(Body& body, NodeList followers) override {
    try {
      importer_.go_on(scope_, node_, body, std::move(followers));
    } catch (...) {
      importer_.around_ = scope_.functions;
      throw;
    }
  }
  void define(const std::string& name, Item item) override { scope_.items[name] = std::move(item); }
  bool ends_model() const override { return scope_.is_model; }
  int branches() const override { return scope_.branches; }
  bool is_exhausted() const override { return importer_.exhausted_; }

 private:
  GraphImporter& importer_;
  Scope& scope_;
  const onnx::NodeProto& node_;
  std::string name_;
};

bool GraphImporter::import_node(Scope& scope, onnx::NodeProto& node, int index) {
  exhausted_ |= static_cast<size_t>(++imported_nodes_) > options_.max_nodes;
  require_fewer(imported_nodes_, options_.max_nodes);
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
  if (scope.is_model && options_.second_input) replace_second_input(scope, node, inputs);
  Graphs graphs(*this, scope, node, name);
  NodeContext n(*scope.state, node, name, opset, std::move(inputs), scope.weights->tensors, graphs);
  import_operator(scope, n, m);
  finish_node(scope, n);
  return true;
}

void GraphImporter::replace_second_input(const Scope& scope, const onnx::NodeProto& node,
                                         std::vector<Item>& inputs) const {
  if (inputs.size() < 2 || !std::holds_alternative<Value*>(inputs[0]) || is_null(inputs[0])) return;
  if (const auto elements = options_.second_input(node.name(), *std::get<Value*>(inputs[0])))
    inputs[1] = &Layers(*scope.state, node.name()).integers(*elements);
}

void GraphImporter::import_operator(Scope& scope, NodeContext& n, const Meaning& m) {
  if (m.creator == nullptr && m.row == nullptr) fail_unknown(n.proto(), scope.opset_of(n.proto()));
  if (m.creator != nullptr) {
    round_inputs(n);
    import_plugin(n, *m.creator);
    const std::string plugin = plugin_name(n.proto());
    if (std::find(report_.plugins.begin(), report_.plugins.end(), plugin) == report_.plugins.end())
      report_.plugins.push_back(plugin);
  } else {
    require_sound_stand_ins(n);
    const Float64Use use = prepare_float64(n);
    m.row(n);
    finish_stand_ins(n);
    if (use == Float64Use::kRounds) {
      note_doubles(n);
      doubles_.push_back(fmt::format("'{}' ({})", n.node_name(), n.op()));
    }
  }
  for (const std::string& attribute : n.unused_attributes())
    options_.log.warning("node '{}' ({}): attribute '{}' is not used{}", n.node_name(), n.op(),
                         attribute, m.row == nullptr ? ": the plugin does not declare it" : "");
}

void GraphImporter::warn_of_doubles() const {
  if (doubles_.empty()) return;
  const size_t shown = std::min<size_t>(doubles_.size(), 3);
  const std::span<const std::string> first(doubles_.data(), shown);
  options_.log.warning("float64 is float32 in {} of the model: {}{}",
                       doubles_.size() == 1 ? "1 node" : fmt::format("{} nodes", doubles_.size()),
                       fmt::join(first, ", "), shown < doubles_.size() ? ", and others" : "");
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
  if (scope.functions.empty() && (scope.outer != nullptr || &scope.state->network != &network_))
    report_inner(n);
}

// A body may be imported more than once, for other shapes.
void GraphImporter::report_inner(NodeContext& n) {
  auto [entry, is_new] = report_.inner_outputs.try_emplace(n.proto().name());
  const auto tensors = tensors_among(n.outputs());
  std::vector<std::optional<InnerTensor>> now;
  for (const Value* tensor : tensors)
    now.push_back(tensor != nullptr && tensor->known ? std::optional(inner_tensor(*tensor))
                                                     : std::nullopt);
  if (is_new)
    entry->second = std::move(now);
  else
    for (size_t i = 0; i < std::min(now.size(), entry->second.size()); ++i)
      entry->second[i] = common(entry->second[i], now[i]);
}

// Tensors get the names that the model gives them; the layer that makes the first, the node's name.
void GraphImporter::name_layers(NodeContext& n) {
  const auto tensors = tensors_among(n.outputs());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string& name = n.proto().output(static_cast<int>(i));
    if (tensors[i] == nullptr || name.empty()) continue;
    // The layer that gives it is among the last.
    const auto is_maker = [&](const Node* layer) { return layer == tensors[i]->producer; };
    if (std::any_of(n.added().rbegin(), n.added().rend(), is_maker)
        && named_.insert(tensors[i]).second)
      tensors[i]->name = n.is_float64(*tensors[i]) ? name + " [float64]" : name;
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

void GraphImporter::import_nodes(Scope& scope, NodeList& nodes) {
  scope.nodes = &nodes;
  scope.import_current = [&] {
    onnx::NodeProto& node = nodes.current();
    const int i = nodes.index();
    with_context(fmt::format("node '{}' ({})", shown_name(node, i), qualified(node)),
                 [&] { require(import_node(scope, node, i), "an input could not be imported"); });
  };
  while (nodes.next()) scope.import_current();
}

std::vector<Item> GraphImporter::import_graph(Scope& scope, onnx::GraphProto& graph) {
  std::vector<Item> outputs;
  with_context(fmt::format("graph '{}'", graph.name()), [&] {
    NodeList nodes(*graph.mutable_node(), output_names(graph));
    import_nodes(scope, nodes);
    for (const auto& output : graph.output()) {
      outputs.push_back(scope.find(output.name()));
      require(!is_null(outputs.back()), "output '{}' could not be imported", output.name());
    }
  });
  return outputs;
}

std::vector<Item> GraphImporter::inline_body(Scope& outer, const std::string& name,
                                             onnx::GraphProto& graph,
                                             const std::vector<Item>& inputs) {
  require(static_cast<size_t>(graph.input_size()) == inputs.size(),
          "graph '{}' has {} inputs; expected {}", graph.name(), graph.input_size(), inputs.size());
  Scope scope = inner_scope(outer, name, graph);
  for (size_t i = 0; i < inputs.size(); ++i)
    scope.items[graph.input(static_cast<int>(i)).name()] = inputs[i];
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
  body.scope = std::make_shared<Scope>(inner_scope(outer, name, graph));
  Scope& scope = *body.scope;
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
    if (inputs[i].is_vector) {
      Layers layers(*body.state, input);
      tensor = &layers.reshape(*tensor, {layers.number(1)});
    }
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
  for (Item& item : body.outputs) item = rounded_to_float32(*body.state, name, item);
  require_own_types(body, output_names(graph));
  return body;
}

void GraphImporter::go_on(const Scope& outer, const onnx::NodeProto& node, Body& body,
                          NodeList followers) {
  exhausted_ |= ++branches_ > kMaxBranches;
  if (exhausted_)
    fail_import(Code::kUNSUPPORTED_NODE,
                "what is behind conditionals whose branches make several ranks would be imported "
                "more than {} times: fewer of them may stand behind each other",
                kMaxBranches);
  Scope& scope = *body.scope;
  scope.body = &body;
  scope.prefix = outer.prefix;
  scope.is_model = outer.is_model;
  scope.branches = outer.branches + 1;
  for (size_t i = 0; i < body.outputs.size(); ++i)
    scope.items[node.output(static_cast<int>(i))] = body.outputs[i];
  import_nodes(scope, followers);
  body.outputs.clear();
  for (const std::string& name : followers.outputs())
    body.outputs.push_back(rounded_to_float32(*body.state, name, scope.find(name)));
  require_own_types(body, followers.outputs());
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
  NodeList::Nodes inner;
  for (const auto& of_function : function.node()) {
    onnx::NodeProto& copy = *inner.Add();
    copy = substituted(of_function, node, function);
    for (std::string& input : *copy.mutable_input()) {  // optional inputs of the function
      const auto it = body.items.find(input);
      if (it != body.items.end() && is_null(it->second)) input.clear();
    }
  }
  NodeList nodes(inner, {function.output().begin(), function.output().end()});
  with_context(fmt::format("in function '{}'", function.name()),
               [&] { import_nodes(body, nodes); });
  around_ = caller.functions;
  for (int i = 0; i < node.output_size(); ++i) {
    require(i < function.output_size(), "it has {} outputs; function '{}' makes {}",
            node.output_size(), function.name(), function.output_size());
    if (!node.output(i).empty()) caller.items[node.output(i)] = body.find(function.output(i));
  }
}

}  // namespace tenon
