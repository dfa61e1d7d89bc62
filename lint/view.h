// A model as rules look at it: nodes with the types of their tensors, constants and readers.
#pragma once

#include <tenon/onnx.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tenon::lint {

/// A tensor's type: "float32" or as ONNX's tables have it, and -1 for an extent that only the run
/// tells.
struct TypeView {
  std::string element;
  std::optional<std::vector<int64_t>> shape;
};

struct NodeView {
  std::string name, op_type, domain, source;  ///< source: "file.py:12" of PyTorch's program, or ""
  std::vector<std::string> inputs, outputs;
  nlohmann::json attributes;
  bool is_inner = false;  ///< of a graph in an attribute, or of a function
  std::string function;   ///< that it is of, also within a graph in an attribute there; "" for none
  /// Versions by domain that hold for it: the model's, or its function's own.
  const nlohmann::json* opsets = nullptr;
  /// The name, or the first output of a node without one.
  std::string shown() const { return name.empty() && !outputs.empty() ? outputs[0] : name; }
};

/// The line "file.py:12" that a trace of PyTorch's exporters ends in, outside of PyTorch; "" if
/// none.
std::string source_of(std::string_view text);

/// Reads a model once. The model must outlive it, and not change.
class ModelView {
 public:
  explicit ModelView(const edit::Model& model);

  const edit::Model& model() const { return model_; }
  const std::vector<NodeView>& nodes() const { return nodes_; }
  const nlohmann::json& tree() const { return tree_; }
  const TypeView* type(const std::string& tensor) const;
  /// The elements of a tensor of the main graph with at most 64 numbers, if it is a constant or a
  /// concatenation; those of other parts are NaN.
  std::optional<std::vector<double>> elements(const std::string& tensor) const;
  /// The operators of the nodes that read a tensor; none for an output of the model.
  std::optional<std::vector<std::string>> readers(const std::string& tensor) const;

 private:
  std::optional<std::vector<double>> constant(const std::string& tensor) const;
  std::optional<std::vector<double>> concatenation(const NodeView& node) const;
  void add_graph(const nlohmann::json& graph, bool is_inner, const std::string& function,
                 const nlohmann::json& opsets);

  const edit::Model& model_;
  nlohmann::json tree_;
  std::vector<NodeView> nodes_;
  std::unordered_map<std::string, TypeView> types_;
  std::unordered_map<std::string, std::vector<std::string>> readers_;
  std::unordered_map<std::string, size_t> producers_;  // of the main graph
  std::unordered_map<std::string, bool> outputs_;
};

}  // namespace tenon::lint
