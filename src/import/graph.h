// Nodes of a graph become layers: operators, plugins, calls of functions, and nodes with graphs of
// their own.
#pragma once

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "import/import.h"
#include "import/node.h"
#include "import/scope.h"
#include "onnx_model/functions.h"

namespace tenon {

/// Throws when a model has more nodes than ImportOptions::max_nodes.
void require_fewer(int64_t nodes, size_t max_nodes);

/// "node_name", or "operator_index" for a node without a name; fit for tables and messages.
std::string shown_name(const onnx::NodeProto& node, int index);

class GraphImporter {
 public:
  /// Outputs of nodes that become layers of `network` are reported.
  GraphImporter(const onnx::ModelProto& model, const ImportOptions& options, const Network& network,
                ImportReport& report);

  /// Adds the layers of one node, and its outputs to the scope; false when an input of it could not
  /// be imported. Takes the bytes out of tensors, and, where branches make tensors of several
  /// ranks, those behind it out of the scope's nodes. Throws for a node that cannot be imported.
  bool import_node(Scope& scope, onnx::NodeProto& node, int index);
  /// Throws when no row, function or plugin says what the node means.
  void require_meaning(const Scope& scope, const onnx::NodeProto& node) const;
  /// One warning that names the nodes which compute in float64 in the model and in float32 here.
  /// Inputs and outputs say it of themselves.
  void warn_of_doubles() const;
  /// The functions around the node that failed last, outermost first. Forgets them.
  std::vector<std::string> take_functions() { return std::exchange(around_, {}); }

 private:
  // What a node is made into; nothing is set for an operator that nobody knows.
  struct Meaning {
    ImportFunction row = nullptr;
    nvinfer1::IPluginCreatorInterface* creator = nullptr;
    const onnx::FunctionProto* function = nullptr;
  };
  class Graphs;

  Meaning meaning_of(const onnx::NodeProto& node, int64_t opset) const;
  std::string unique_name(const Scope& scope, const onnx::NodeProto& node, int index);
  void replace_second_input(const Scope& scope, const onnx::NodeProto& node,
                            std::vector<Item>& inputs) const;
  void import_operator(Scope& scope, NodeContext& n, const Meaning& meaning);
  void finish_node(Scope& scope, NodeContext& n);
  void report_inner(NodeContext& n);
  void name_layers(NodeContext& n);
  void call_function(Scope& caller, onnx::NodeProto& node, const onnx::FunctionProto& function,
                     const std::string& name, const std::vector<Item>& inputs);
  Scope inner_scope(Scope& outer, const std::string& name, onnx::GraphProto& graph);
  void import_nodes(Scope& scope, NodeList& nodes);
  std::vector<Item> import_graph(Scope& scope, onnx::GraphProto& graph);
  std::vector<Item> inline_body(Scope& outer, const std::string& name, onnx::GraphProto& graph,
                                const std::vector<Item>& inputs);
  Body import_body(Scope& outer, const std::string& name, onnx::GraphProto& graph,
                   std::span<const BodyInput> own, std::span<const BodyInput> inputs,
                   const std::vector<Value*>& captured);
  void go_on(const Scope& outer, const onnx::NodeProto& node, Body& body, NodeList followers);

  LocalFunctions functions_;
  const ImportOptions& options_;
  const Network& network_;
  ImportReport& report_;
  std::unordered_set<std::string> node_names_;
  std::unordered_set<const Value*> named_;
  std::vector<std::string> around_;  // functions around the node that is being imported
  int64_t imported_nodes_ = 0;
  int branches_ = 0;  // bodies that went on
  bool exhausted_ = false;
  std::vector<std::string> doubles_;  // nodes that compute in float64 in the model alone
};

}  // namespace tenon
