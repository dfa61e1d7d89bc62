// The walk over the graph: initializers, inputs, nodes, outputs.
#include "import/import.h"

#include <new>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "import/node.h"
#include "import/plugin_node.h"
#include "network/control_flow.h"
#include "ops/identity.h"

namespace tenon {
namespace {

using Code = nvonnxparser::ErrorCode;

constexpr size_t kMostProblems = 1000;
constexpr size_t kDeepestFunction = 32;
constexpr int64_t kMostInlinedNodes = 200'000;

Code parser_code(const Error& e) {
  if (const auto* own = dynamic_cast<const ImportError*>(&e)) return own->parser_code();
  switch (e.code()) {
    case ErrorCode::kFAILED_ALLOCATION:
      return Code::kMEM_ALLOC_FAILED;
    case ErrorCode::kINTERNAL_ERROR:
      return Code::kINTERNAL_ERROR;
    case ErrorCode::kUNSUPPORTED_STATE:
      return Code::kUNSUPPORTED_NODE;
    default:
      return Code::kINVALID_NODE;
  }
}

bool is_standard(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

std::string qualified(const onnx::NodeProto& node) {
  return qualified_operator(node.domain(), node.op_type());
}

// The names that are visible in a graph or in the body of a function.
struct Scope {
  ImportState* state = nullptr;  // of the network that layers go to
  Scope* outer = nullptr;        // around the graph of a node; its names are visible too
  Body* body = nullptr;          // the network is one of its own
  std::unordered_map<std::string, std::vector<Value*>> sequences;
  std::unordered_map<const Value*, Value*> captures;  // outer value -> input of the body
  std::unordered_map<std::string, onnx::TensorProto*> initializers;
  int depth = 0;  // graphs around this one
  // Null: the node that makes it could not be imported.
  std::unordered_map<std::string, Value*> values;
  // Outputs that are not supported, and why; an error only where one is used.
  std::unordered_map<std::string, std::string> missing_outputs;
  int64_t opset = 0;                            // of the standard domain, 0 when there is none
  std::map<std::string, int64_t> other_opsets;  // of the other domains
  std::string prefix;                           // of node names
  std::vector<std::string> functions;           // around the nodes, outermost first
};

// Graphs inside graphs.
constexpr int kDeepestGraph = 64;

class Importer {
 public:
  Importer(onnx::ModelProto& model, const ImportOptions& options, Network& network,
           ImportReport& report)
      : model_(model),
        graph_(*model.mutable_graph()),
        options_(options),
        network_(network),
        report_(report),
        state_(network),
        source_{options.model_path, options.log, {}} {
    *state_.constant_budget = options.most_computed_bytes;
    scope_.state = &state_;
  }

  void run() {
    report_.node_count = graph_.node_size();
    set_opsets(scope_, model_.opset_import());
    if (scope_.opset > 0 && scope_.opset < 6)
      options_.log.warning(
          "the model uses opset {}; opsets before 6 are read as opset 6 where they "
          "differ",
          scope_.opset);
    if (!graph_.name().empty()) network_.name = graph_.name();
    list_names();
    if (!report_.problems.empty()) return;
    find_unknown_operators();
    if (!guarded(nullptr, -1, [&] { add_inputs(); })) return;
    // Also after an unknown operator: a report names all that is wrong with a model.
    for (int i = 0; i < graph_.node_size(); ++i) import_top_node(i);
    if (report_.problems.empty()) guarded(nullptr, -1, [&] { mark_outputs(); });
  }

 private:
  // What a node is made into.
  struct Meaning {
    ImportFunction row = nullptr;
    nvinfer1::IPluginCreatorInterface* creator = nullptr;
    const onnx::FunctionProto* function = nullptr;
  };

  template <class Body> bool guarded(const onnx::NodeProto* node, int index, Body&& body) {
    try {
      body();
      return true;
    } catch (const Error& e) {
      add_problem(parser_code(e), e.what(), node, index);
    } catch (const std::bad_alloc&) {
      add_problem(Code::kMEM_ALLOC_FAILED, "out of memory", node, index);
    } catch (const std::exception& e) {
      add_problem(Code::kINTERNAL_ERROR, e.what(), node, index);
    }
    return false;
  }

  void add_problem(Code code, const std::string& text, const onnx::NodeProto* node, int index) {
    if (report_.problems.size() >= kMostProblems) return;
    ImportProblem problem{code, one_line(text), index, "", "", functions_};
    if (node != nullptr) {
      problem.node_name = scope_name(*node, index);
      problem.node_operator = qualified(*node);
      problem.text = one_line(
          fmt::format("node '{}' ({}): {}", problem.node_name, problem.node_operator, text));
    } else if (code == Code::kINVALID_NODE) {
      problem.code = Code::kINVALID_GRAPH;
    }
    report_.problems.push_back(std::move(problem));
  }

  static void set_opsets(
      Scope& scope, const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
    scope.opset = standard_opset(imports);
    for (const auto& entry : imports)
      if (!is_standard(entry.domain())) scope.other_opsets[entry.domain()] = entry.version();
  }

  // The version of the node's domain. Models that forget to name another domain mean the first.
  static int64_t opset_of(const Scope& scope, const onnx::NodeProto& node) {
    if (is_standard(node.domain())) return scope.opset;
    const auto it = scope.other_opsets.find(node.domain());
    return it == scope.other_opsets.end() ? 1 : std::max<int64_t>(it->second, 1);
  }

  // Names of layers end up in tables and messages.
  static std::string scope_name(const onnx::NodeProto& node, int index) {
    return node.name().empty() ? fmt::format("{}_{}", one_line(node.op_type()), index)
                               : one_line(node.name());
  }

  std::string unique_name(const Scope& scope, const onnx::NodeProto& node, int index) {
    const std::string base = scope.prefix + scope_name(node, index);
    std::string name = base;
    for (int i = 1; !node_names_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
    return name;
  }

  // Everything that the graph defines, once each.
  void list_names() {
    guarded(nullptr, -1, [&] {
      require(graph_.sparse_initializer_size() == 0, "sparse initializers are not supported yet");
      for (auto& tensor : *graph_.mutable_initializer()) {
        check_name(tensor.name(), "an initializer");
        require(scope_.initializers.emplace(tensor.name(), &tensor).second,
                "two initializers are called '{}'", tensor.name());
      }
      std::unordered_set<std::string> inputs;
      for (const auto& input : graph_.input()) {
        check_name(input.name(), "a graph input");
        require(inputs.insert(input.name()).second, "two graph inputs are called '{}'",
                input.name());
      }
      for (int i = 0; i < graph_.node_size(); ++i)
        for (const std::string& output : graph_.node(i).output()) {
          if (output.empty()) continue;
          check_name(output, "an output of a node");
          require(!scope_.initializers.contains(output) && !inputs.contains(output)
                      && makers_.emplace(output, i).second,
                  "two tensors are called '{}' (one is an output of node '{}')", output,
                  scope_name(graph_.node(i), i));
        }
      for (auto& function : *model_.mutable_functions())
        functions_by_name_[function_key(function.domain(), function.name(), function.overload())] =
            &function;
      require(graph_.output_size() > 0, "the graph has no outputs");
    });
  }

  static void check_name(const std::string& name, const char* what) {
    require(!name.empty(), "{} has no name", what);
    require(is_utf8(name), "the name of {} is not valid UTF-8", what);
  }

  static std::string function_key(const std::string& domain, const std::string& name,
                                  const std::string& overload) {
    return (is_standard(domain) ? "" : domain) + "\n" + name + "\n" + overload;
  }

  Meaning meaning_of(const onnx::NodeProto& node, int64_t opset) const {
    Meaning m;
    const auto function =
        functions_by_name_.find(function_key(node.domain(), node.op_type(), node.overload()));
    if (function != functions_by_name_.end()) {
      m.function = function->second;
      return m;
    }
    m.row = find_row(qualified(node), opset);
    if (m.row == nullptr || options_.prefer_plugins) m.creator = creator_for(node);
    return m;
  }

  [[noreturn]] static void fail_unknown(const onnx::NodeProto& node, int64_t opset) {
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

  void find_unknown_operators() {
    for (int i = 0; i < graph_.node_size(); ++i) {
      const onnx::NodeProto& node = graph_.node(i);
      const bool known = guarded(&node, i, [&] {
        const int64_t opset = opset_of(scope_, node);
        const Meaning m = meaning_of(node, opset);
        if (m.row == nullptr && m.creator == nullptr && m.function == nullptr)
          fail_unknown(node, opset);
      });
      if (!known) unknown_.insert(i);
    }
  }

  void add_inputs() {
    for (const auto& input : graph_.input()) {
      // Old models list weights among the inputs.
      if (scope_.initializers.contains(input.name())) continue;
      with_context(fmt::format("input '{}'", input.name()), [&] { add_input(input); });
    }
  }

  void add_input(const onnx::ValueInfoProto& input) {
    require(input.type().has_tensor_type(), "only tensors are supported as inputs yet");
    const auto& type = input.type().tensor_type();
    const auto data_type = data_type_of(type.elem_type());
    const bool is_double = type.elem_type() == onnx::TensorProto::DOUBLE;
    require(data_type && (is_exact(type.elem_type()) || is_double),
            "data type {} is not supported yet", onnx_type_name(type.elem_type()));
    if (is_double)
      options_.log.warning("input '{}' is float64 in the model; it is float32 here", input.name());
    require(type.has_shape(), "its shape is not declared; export the model with at least a rank");
    require(type.shape().dim_size() <= Shape::kMaxRank,
            "it has {} dimensions; at most {} are supported", type.shape().dim_size(),
            Shape::kMaxRank);
    Shape declared;
    std::array<std::string, Shape::kMaxRank> names;
    for (const auto& dim : type.shape().dim()) {
      // Exporters of PaddlePaddle write "?" for every extent that varies: no name at all.
      if (dim.has_dim_param() && dim.dim_param() != "?")
        names[static_cast<size_t>(declared.rank())] = dim.dim_param();
      require(!dim.has_dim_value() || dim.dim_value() >= -1, "extent {} is {}", declared.rank(),
              dim.dim_value());
      declared.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    }
    scope_.values[input.name()] = &network_.add_input(input.name(), *data_type, declared, names);
  }

  // The value of a name; null when the node that makes it has failed.
  Value* lookup(Scope& scope, const std::string& name) {
    if (scope.sequences.contains(name))
      fail_import(Code::kUNSUPPORTED_NODE,
                  "'{}' is a sequence of tensors, which is not supported here yet", name);
    if (const auto it = scope.values.find(name); it != scope.values.end()) return it->second;
    if (const auto it = scope.missing_outputs.find(name); it != scope.missing_outputs.end())
      fail_import(Code::kUNSUPPORTED_NODE, "{}", it->second);
    if (const auto it = scope.initializers.find(name); it != scope.initializers.end())
      return scope.values[name] = &add_initializer(*scope.state, *it->second);
    if (scope.outer != nullptr) {
      Value* outer = lookup(*scope.outer, name);
      if (outer == nullptr || scope.body == nullptr) return outer;
      return scope.values[name] = &capture(scope, *outer);
    }
    if (&scope == &scope_) {
      if (const auto it = makers_.find(name); it != makers_.end())
        fail_import(Code::kINVALID_GRAPH,
                    "tensor '{}' is used before node '{}' makes it: the nodes are not sorted, or "
                    "they form a cycle",
                    name, scope_name(graph_.node(it->second), it->second));
    }
    fail_import(Code::kINVALID_GRAPH,
                "tensor '{}' does not exist: no input, initializer or node has that name", name);
  }

  std::optional<std::vector<Value*>> find_sequence(Scope& scope, const std::string& name) {
    if (const auto it = scope.sequences.find(name); it != scope.sequences.end()) return it->second;
    if (scope.outer == nullptr || scope.values.contains(name)) return std::nullopt;
    auto outer = find_sequence(*scope.outer, name);
    if (outer && scope.body != nullptr)
      for (Value*& element : *outer) element = &capture(scope, *element);
    return outer;
  }

  // A value of the network around a body, as the body sees it.
  Value& capture(Scope& scope, Value& outer) {
    Value*& inner = scope.captures[&outer];
    if (inner != nullptr) return *inner;
    Network& network = scope.state->network;
    Layers around(*scope.outer->state, "");
    if (const Tensor* constant = around.known_tensor(outer))
      return *(inner = &network.add_weight(*constant, outer.name));
    if (auto constant = constant_content(outer))
      return *(inner = &network.add_weight(std::move(*constant), outer.name));
    const BodyDims dims = body_dims(outer.dims);
    inner = &network.add_input(unused_input_name(network, outer.name), outer.type, dims.declared,
                               dims.names);
    scope.body->captured.push_back(&outer);
    return *inner;
  }

  static std::string unused_input_name(const Network& network, const std::string& base) {
    std::string name = base;
    const auto taken = [&](const Value* v) { return v->name == name; };
    for (int i = 1; std::any_of(network.inputs().begin(), network.inputs().end(), taken); ++i)
      name = fmt::format("{}_{}", base, i);
    return name;
  }

  Value& add_initializer(ImportState& state, onnx::TensorProto& tensor) {
    std::optional<std::span<const std::byte>> replacement;
    const auto given = options_.initializers.find(tensor.name());
    if (given != options_.initializers.end()) replacement = given->second;
    const std::string name = tensor.name();
    return state.network.add_weight(make_tensor(tensor, source_, replacement), name);
  }

  void import_top_node(int index) {
    onnx::NodeProto& node = *graph_.mutable_node(index);
    bool imported = false;
    const bool fine = !unknown_.contains(index) && guarded(&node, index, [&] {
      imported = import_node(scope_, node, index);
    });
    functions_.clear();
    if (!fine || !imported)
      for (const std::string& output : node.output()) scope_.values[output] = nullptr;
    if (fine) report_.supported_nodes.push_back(index);
  }

  // False when an input could not be imported.
  bool import_node(Scope& scope, onnx::NodeProto& node, int index) {
    if (node.output_size() == 0) fail_import(Code::kINVALID_NODE, "it has no outputs");
    std::vector<Value*> inputs;
    std::map<int, std::vector<Value*>> sequences;
    for (const std::string& name : node.input()) {
      if (auto sequence = find_sequence(scope, name)) {
        sequences[static_cast<int>(inputs.size())] = std::move(*sequence);
        inputs.push_back(nullptr);
        continue;
      }
      Value* value = name.empty() ? nullptr : lookup(scope, name);
      if (value == nullptr && !name.empty()) return false;
      inputs.push_back(value);
    }
    const int64_t opset = opset_of(scope, node);
    const Meaning m = meaning_of(node, opset);
    const std::string name = unique_name(scope, node, index);
    if (m.function != nullptr) {
      inline_function(scope, node, *m.function, name, inputs);
      return true;
    }
    Graphs graphs(*this, scope, name);
    NodeContext n(*scope.state, node, name, opset, std::move(inputs), source_, graphs);
    for (auto& [i, elements] : sequences) n.give_sequence(i, std::move(elements));
    if (m.creator != nullptr) {
      import_plugin(n, *m.creator);
      if (std::find(report_.plugins.begin(), report_.plugins.end(), node.op_type())
          == report_.plugins.end())
        report_.plugins.push_back(node.op_type());
    } else if (m.row != nullptr) {
      m.row(n);
    } else {
      fail_unknown(node, opset);
    }
    finish_node(scope, n, node);
    return true;
  }

  void finish_node(Scope& scope, NodeContext& n, const onnx::NodeProto& node) {
    for (const std::string& attribute : n.unused_attributes())
      options_.log.warning("node '{}' ({}): attribute '{}' is not used{}", n.node_name(), n.op(),
                           attribute,
                           find_row(qualified(node), opset_of(scope, node)) == nullptr
                               ? ": the plugin does not declare it"
                               : "");
    for (int i = 0; i < node.output_size(); ++i) {
      if (node.output(i).empty()) continue;
      Value* value = n.outputs()[static_cast<size_t>(i)];
      if (const auto* elements = n.sequence_output(i)) {
        scope.sequences[node.output(i)] = *elements;
        continue;
      }
      if (value == nullptr) {
        scope.missing_outputs[node.output(i)] =
            fmt::format("output {} ('{}') of node '{}' ({}) is not supported yet", i,
                        node.output(i), n.node_name(), n.op());
        continue;
      }
      const bool own =
          std::find(n.added().begin(), n.added().end(), value->producer) != n.added().end();
      if (own && named_.insert(value).second) value->name = node.output(i);
      scope.values[node.output(i)] = value;
    }
    // The layer that makes the first output carries the node's name.
    for (Node* layer : n.added())
      if (!n.outputs().empty() && n.outputs()[0] != nullptr && n.outputs()[0]->producer == layer)
        layer->name = n.node_name();
    if (scope.state == &state_) report_.node_outputs[n.node_name()] = n.outputs();
  }

  // The graphs of one node.
  class Graphs final : public BodyImporter {
   public:
    Graphs(Importer& importer, Scope& scope, std::string name)
        : importer_(importer), scope_(scope), name_(std::move(name)) {}
    Body import_body(onnx::GraphProto& graph, std::span<const BodyInput> own,
                     std::span<const BodyInput> inputs,
                     const std::vector<Value*>& captured) override {
      return importer_.import_body(scope_, name_, graph, own, inputs, captured);
    }
    std::vector<Value*> inline_body(onnx::GraphProto& graph) override {
      return importer_.inline_body(scope_, name_, graph);
    }

   private:
    Importer& importer_;
    Scope& scope_;
    std::string name_;
  };

  Scope inner_scope(Scope& outer, const std::string& name, onnx::GraphProto& graph) {
    require(outer.depth < kDeepestGraph, "graphs are nested more than {} deep", kDeepestGraph);
    require(graph.sparse_initializer_size() == 0, "sparse initializers are not supported yet");
    Scope scope;
    scope.state = outer.state;
    scope.outer = &outer;
    scope.depth = outer.depth + 1;
    scope.opset = outer.opset;
    scope.other_opsets = outer.other_opsets;
    scope.prefix = name + "/";
    scope.functions = outer.functions;
    for (auto& tensor : *graph.mutable_initializer()) {
      check_name(tensor.name(), "an initializer");
      scope.initializers[tensor.name()] = &tensor;
    }
    return scope;
  }

  std::vector<Value*> import_graph(Scope& scope, onnx::GraphProto& graph) {
    std::vector<Value*> outputs;
    with_context(fmt::format("graph '{}'", graph.name()), [&] {
      for (int i = 0; i < graph.node_size(); ++i) {
        onnx::NodeProto& node = *graph.mutable_node(i);
        require(++inlined_nodes_ <= kMostInlinedNodes, "the model expands to more than {} nodes",
                kMostInlinedNodes);
        with_context(fmt::format("node '{}' ({})", scope_name(node, i), qualified(node)), [&] {
          require(import_node(scope, node, i), "an input could not be imported");
        });
      }
      for (const auto& output : graph.output()) {
        outputs.push_back(lookup(scope, output.name()));
        require(outputs.back() != nullptr, "output '{}' could not be imported", output.name());
      }
    });
    return outputs;
  }

  std::vector<Value*> inline_body(Scope& outer, const std::string& name, onnx::GraphProto& graph) {
    require(graph.input_size() == 0, "graph '{}' has {} inputs; expected none", graph.name(),
            graph.input_size());
    Scope scope = inner_scope(outer, name, graph);
    return import_graph(scope, graph);
  }

  Body import_body(Scope& outer, const std::string& name, onnx::GraphProto& graph,
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
      require(!scope.values.contains(input), "two inputs of graph '{}' are called '{}'",
              graph.name(), input);
      scope.values[input] =
          &body.network->add_input(unused_input_name(*body.network, input), inputs[i].type,
                                   inputs[i].declared, inputs[i].dimension_names);
    }
    for (Value* value : captured) capture(scope, *value);
    body.outputs = import_graph(scope, graph);
    return body;
  }

  void inline_function(Scope& caller, onnx::NodeProto& node, const onnx::FunctionProto& function,
                       const std::string& name, const std::vector<Value*>& inputs) {
    require(caller.functions.size() < kDeepestFunction,
            "functions call each other more than {} deep: they recurse, or the model is damaged",
            kDeepestFunction);
    if (static_cast<int>(inputs.size()) > function.input_size())
      fail_import(Code::kINVALID_NODE, "it has {} inputs; function '{}' takes {}", inputs.size(),
                  function.name(), function.input_size());
    Scope body;
    body.state = caller.state;
    body.depth = caller.depth;
    set_opsets(body, function.opset_import());
    body.prefix = name + "/";
    body.functions = caller.functions;
    body.functions.push_back(qualified(node));
    for (int i = 0; i < function.input_size(); ++i)
      if (static_cast<size_t>(i) < inputs.size())
        body.values[function.input(i)] = inputs[static_cast<size_t>(i)];
    functions_ = body.functions;
    for (int i = 0; i < function.node_size(); ++i) {
      require(++inlined_nodes_ <= kMostInlinedNodes, "functions expand to more than {} nodes",
              kMostInlinedNodes);
      onnx::NodeProto copy = function.node(i);
      substitute_attributes(copy, node, function);
      for (std::string& input : *copy.mutable_input())  // optional inputs of the function
        if (body.values.contains(input) && body.values[input] == nullptr) input.clear();
      with_context(fmt::format("in function '{}', node '{}' ({})", function.name(),
                               scope_name(copy, i), qualified(copy)),
                   [&] { import_node(body, copy, i); });
    }
    functions_ = caller.functions;
    for (int i = 0; i < node.output_size(); ++i) {
      require(i < function.output_size(), "it has {} outputs; function '{}' makes {}",
              node.output_size(), function.name(), function.output_size());
      if (!node.output(i).empty()) caller.values[node.output(i)] = lookup(body, function.output(i));
    }
  }

  static void substitute_attributes(onnx::NodeProto& copy, const onnx::NodeProto& call,
                                    const onnx::FunctionProto& function) {
    auto* attributes = copy.mutable_attribute();
    for (int i = attributes->size() - 1; i >= 0; --i) {
      const std::string& reference = attributes->Get(i).ref_attr_name();
      if (reference.empty()) continue;
      const onnx::AttributeProto* value = nullptr;
      for (const auto& a : function.attribute_proto())
        if (a.name() == reference) value = &a;
      for (const auto& a : call.attribute())
        if (a.name() == reference) value = &a;
      if (value == nullptr) {
        attributes->DeleteSubrange(i, 1);
        continue;
      }
      const std::string name = attributes->Get(i).name();
      *attributes->Mutable(i) = *value;
      attributes->Mutable(i)->set_name(name);
    }
  }

  void mark_outputs() {
    for (const auto& output : graph_.output())
      with_context(fmt::format("graph output '{}'", output.name()), [&] {
        check_name(output.name(), "a graph output");
        for (const Value* other : network_.outputs())
          require(other->name != output.name(), "it is listed twice");
        mark_output(output, lookup(scope_, output.name()));
      });
  }

  void mark_output(const onnx::ValueInfoProto& output, Value* value) {
    Layers layers(state_, output.name());
    if (value->is_weight()) value = &layers.constant(*value);
    if (value->is_input || value->is_output || value->name != output.name()) {
      value = &layers.add(std::make_unique<Identity>(), {value});
      value->name = output.name();
      value->producer->name = output.name() + " [Identity]";
    }
    const int32_t declared = output.type().tensor_type().elem_type();
    if (output.type().has_tensor_type() && declared != 0 && data_type_of(declared) != value->type)
      options_.log.warning("output '{}' is declared as {}, but the model makes {}", output.name(),
                           onnx_type_name(declared), name_of(value->type));
    else if (output.type().has_tensor_type() && declared != 0 && !is_exact(declared))
      options_.log.warning("output '{}' is {} in the model; it is {} here", output.name(),
                           onnx_type_name(declared), name_of(value->type));
    network_.mark_output(*value);
  }

  onnx::ModelProto& model_;
  onnx::GraphProto& graph_;
  const ImportOptions& options_;
  Network& network_;
  ImportReport& report_;
  ImportState state_;
  TensorSource source_;
  Scope scope_;
  std::unordered_map<std::string, int> makers_;  // tensor -> index of the node that makes it
  std::unordered_map<std::string, const onnx::FunctionProto*> functions_by_name_;
  std::unordered_set<int> unknown_;  // nodes whose operator nobody knows
  std::unordered_set<std::string> node_names_;
  std::unordered_set<const Value*> named_;
  std::vector<std::string> functions_;  // around the node that is being imported
  int64_t inlined_nodes_ = 0;
};

}  // namespace

void import_onnx(std::span<const std::byte> bytes, const ImportOptions& options, Network& network,
                 ImportReport& report) {
  std::unique_ptr<onnx::ModelProto> model;
  try {
    model = parse_model(bytes, options.model_path);
    Importer(*model, options, network, report).run();
  } catch (const Error& e) {
    const auto code = model == nullptr ? Code::kMODEL_DESERIALIZE_FAILED : Code::kINVALID_GRAPH;
    report.problems.push_back({code, one_line(e.what()), -1, "", "", {}});
  }
  if (report.problems.empty()) return;
  const size_t more = report.problems.size() - 1;
  const std::string rest = more == 0 ? "" : fmt::format(" (and {} more problems)", more);
  throw Error(ErrorCode::kINVALID_ARGUMENT, report.problems[0].text + rest);
}

std::vector<std::string> initializer_names(std::span<const std::byte> bytes,
                                           const std::string& model_path) {
  std::vector<std::string> names;
  const auto model = parse_model(bytes, model_path);
  for (const auto& tensor : model->graph().initializer()) names.push_back(tensor.name());
  return names;
}

}  // namespace tenon
