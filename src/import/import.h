// The ONNX front end: model bytes in, layers of a Network out.
#pragma once

#include <NvOnnxParser.h>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "network/network.h"
#include "onnx_model/model.h"

namespace tenon {

/// Bytes that the constants may take which one model computes (a shape filled with a number, a
/// range, a converted weight) rather than stores, so that a small file cannot fill the memory: what
/// set_computed_bytes_limit() said last, else the environment variable TENON_IMPORT_LIMIT in MiB,
/// else 2 GiB. Throws when the variable is no number.
size_t computed_bytes_limit();
/// For all imports that begin afterwards, in any thread; 0 brings back the default.
void set_computed_bytes_limit(size_t bytes);

/// How many nodes a model may have, with those of its functions each time they are called: what
/// set_node_limit() said last, else the environment variable TENON_IMPORT_NODES, else 200,000.
/// Throws when the variable is no number.
size_t node_limit();
/// For all imports that begin afterwards, in any thread; 0 brings back the default.
void set_node_limit(size_t nodes);

struct ImportOptions {
  /// Where the model came from, for messages and as the folder of external data; "" when unknown.
  std::string model_path;
  Log log;
  /// A plugin of the operator's name comes before the operator's own meaning.
  bool prefer_plugins = false;
  size_t max_computed_bytes = computed_bytes_limit();
  size_t max_nodes = node_limit();
  /// Weights that replace, by name, those of the model: the bytes of an initializer.
  std::map<std::string, std::span<const std::byte>> initializers;
  /// Asked before each node of the model that has two inputs or more, once in each branch that goes
  /// on with it: elements that its second input, a vector of int64, has instead; none to leave it.
  std::function<std::optional<std::vector<int64_t>>(const std::string& node, const Value& first)>
      second_input;
};

/// One thing that keeps a model from being imported.
struct ImportProblem {
  nvonnxparser::ErrorCode code = nvonnxparser::ErrorCode::kINVALID_GRAPH;
  std::string text;
  int node = -1;  // index in the graph, -1 when it is not about a node
  std::string node_name, node_operator;
  ErrorClass error_class = ErrorClass::kModelFile;
  std::vector<std::string> functions;  // model-local functions around the node, outermost first
};

/// What a node of an inner graph gives, in every network that the graph became.
struct InnerTensor {
  DataType type = DataType::kFLOAT;
  std::optional<std::vector<int64_t>> extents;  // -1 for one that is not known; none: nor the rank
};

struct ImportReport {
  std::vector<ImportProblem> problems;
  /// Operators that became plugin layers, each once.
  std::vector<std::string> plugins;
  /// Output tensors of each ONNX node, by node name; null for an output left out.
  std::unordered_map<std::string, std::vector<Value*>> node_outputs;
  /// What nodes of bodies (of If, Loop, Scan, not of functions) give, by the nodes' own names; none
  /// for what is no tensor.
  std::map<std::string, std::vector<std::optional<InnerTensor>>> inner_outputs;
  /// Nodes of the graph that can be imported, in an order in which inputs come first; those between
  /// two that cannot are a group.
  std::vector<std::vector<int64_t>> supported_nodes;
};

/// Adds the model to `network`. Throws Error naming the first problem after collecting all of them
/// in `report`; the network is then incomplete. The bytes are not needed afterwards.
void import_onnx(std::span<const std::byte> model, const ImportOptions& options, Network& network,
                 ImportReport& report);

/// Names of the model's initializers. Throws Error when the bytes are no model.
std::vector<std::string> initializer_names(std::span<const std::byte> model,
                                           const std::string& model_path);

/// One row of the table of operators.
struct OperatorRow {
  std::string name;
  int64_t since = 1;        // opset from which the row holds, up to the next row of that name
  std::string restriction;  // what is not supported, "" for nothing
  std::string domain = "";  // "" for the standard one
};

/// All operators, sorted by domain, name and opset.
std::vector<OperatorRow> supported_operators();

/// True when the operator has a row. Those of other domains are called "com.microsoft::Gelu".
bool operator_is_known(std::string_view name);

}  // namespace tenon
