// Calls of functions that the model defines, replaced by the nodes of the function.
#include <onnx_schema.pb.h>
#include <tenon/onnx.h>
#include <tenon/printable.h>

#include <unordered_map>

#include "base/error.h"
#include "edit/undone.h"
#include "edit/values.h"
#include "edit/wire.h"
#include "import/import.h"
#include "onnx_model/functions.h"

namespace tenon::edit {
namespace {

using Names = std::unordered_map<std::string, std::string>;

void rename_in(onnx::NodeProto& node, const Names& names);

// Names that the graph itself defines are its own.
void rename_in(onnx::GraphProto& graph, Names names) {
  for (const auto& input : graph.input()) names.erase(input.name());
  for (const auto& tensor : graph.initializer()) names.erase(tensor.name());
  for (const auto& node : graph.node())
    for (const std::string& output : node.output()) names.erase(output);
  for (auto& node : *graph.mutable_node()) rename_in(node, names);
  for (auto& output : *graph.mutable_output())
    if (const auto found = names.find(output.name()); found != names.end())
      output.set_name(found->second);
}

void rename_in(onnx::NodeProto& node, const Names& names) {
  const auto rename = [&](std::string& name) {
    if (const auto found = names.find(name); found != names.end()) name = found->second;
  };
  for (std::string& input : *node.mutable_input()) rename(input);
  for (std::string& output : *node.mutable_output()) rename(output);
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) rename_in(*attribute.mutable_g(), names);
    for (auto& graph : *attribute.mutable_graphs()) rename_in(graph, names);
  }
}

onnx::NodeProto node_proto(const Store& store, Id id) {
  const std::string message = store.message(id);
  onnx::NodeProto proto;
  require(proto.ParseFromArray(message.data(), static_cast<int>(message.size())), "{} is damaged",
          description(store, id));
  return proto;
}

class Inlining {
 public:
  explicit Inlining(Store& store) : store_(store) {
    for (const Id id : store.items(0, Kind::kFunction)) {
      const std::string message = store.message(id);
      require(
          model_.add_functions()->ParseFromArray(message.data(), static_cast<int>(message.size())),
          "function '{}' is damaged", printable(std::string(store.content(id).name)));
    }
    functions_.emplace(model_);
  }

  size_t run() {
    size_t count = 0;
    for (const Id graph : store_.containers())
      if (store_.container(graph).kind == Container::Kind::kGraph)
        for (const Id id : store_.items(graph, Kind::kNode)) count += visit(graph, id, 0);
    for (const Id id : store_.items(0, Kind::kFunction)) store_.remove(id);
    return count;
  }

 private:
  // Calls inside of what a call becomes are calls, too.
  size_t visit(Id graph, Id id, int depth) {
    const onnx::NodeProto call = node_proto(store_, id);
    const onnx::FunctionProto* function = functions_->find(call);
    if (function == nullptr) return visit_graphs(id, depth);
    require(depth < 100, "function '{}' calls itself, or calls are nested more than 100 deep",
            printable(function->name()));
    check_opsets(*function);
    require(call.input_size() <= function->input_size()
                && call.output_size() <= function->output_size(),
            "{} calls function '{}' with more inputs or outputs than it has",
            description(store_, id), printable(function->name()));
    const Id before = store_.item(id).next;
    store_.remove(id);
    Names names = border_names(call, *function);
    size_t count = 1;
    for (const onnx::NodeProto& inner : function->node()) {
      require(++nodes_ <= node_limit(), "functions become more than {} nodes", node_limit());
      onnx::NodeProto node = substituted(inner, call, *function);
      for (const std::string& output : node.output())
        if (!output.empty() && !names.contains(output))
          names[output] =
              store_.new_name(call.name().empty() ? output : call.name() + "/" + output);
      rename_in(node, names);
      if (!call.name().empty() && !node.name().empty())
        node.set_name(call.name() + "/" + node.name());
      count +=
          visit(graph,
                store_.insert(graph, Kind::kNode, 1, store_.keep(node.SerializeAsString()), before),
                depth + 1);
    }
    pass_through(graph, call, *function, names, before);
    return count;
  }

  size_t visit_graphs(Id id, int depth) {
    size_t count = 0;
    if (depth == 0) return 0;  // containers() lists the graphs of nodes that were there before
    for (const AttributeContent& attribute : store_.node(id).attributes)
      for (const Id inner : attribute.graphs)
        for (const Id node : store_.items(inner, Kind::kNode)) count += visit(inner, node, depth);
    return count;
  }

  static Names border_names(const onnx::NodeProto& call, const onnx::FunctionProto& function) {
    Names names;
    for (int i = 0; i < function.input_size(); ++i)
      names[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    for (int i = 0; i < function.output_size(); ++i)
      if (i < call.output_size() && !call.output(i).empty() && !names.contains(function.output(i)))
        names[function.output(i)] = call.output(i);
    return names;
  }

  // An output that is an input of the function.
  void pass_through(Id graph, const onnx::NodeProto& call, const onnx::FunctionProto& function,
                    const Names& names, Id before) {
    for (int i = 0; i < std::min(call.output_size(), function.output_size()); ++i) {
      const std::string& from = names.at(function.output(i));
      if (call.output(i).empty() || from == call.output(i)) continue;
      store_.insert_node(
          graph,
          standard_node(store_, "Identity", "", {store_.keep(from)}, {store_.keep(call.output(i))}),
          before);
    }
  }

  void check_opsets(const onnx::FunctionProto& function) {
    for (const auto& entry : function.opset_import()) {
      const int64_t version = opset_of(store_, 0, entry.domain());
      if (version == 0) set_opset(store_, 0, entry.version(), store_.keep(entry.domain()));
      require(version == 0 || version == entry.version(),
              "function '{}' is written in opset {} of '{}', the model in {}, which is not "
              "supported yet",
              printable(function.name()), entry.version(),
              entry.domain().empty() ? "ai.onnx" : printable(entry.domain()), version);
    }
  }

  Store& store_;
  onnx::ModelProto model_;
  std::optional<LocalFunctions> functions_;
  size_t nodes_ = 0;
};

}  // namespace

size_t inline_functions(Model& model) {
  return undone_unless(model, [&] { return Inlining(model.store()).run(); });
}

}  // namespace tenon::edit
