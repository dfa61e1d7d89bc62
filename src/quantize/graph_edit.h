// An ONNX graph with an index of its constants, and who makes and who reads its tensors.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "onnx_model/tensors.h"

namespace tenon {

/// Names that a graph and those inside it read.
void add_read_names(const onnx::GraphProto& graph, std::multiset<std::string>& names);

/// For changes that replace constants and put nodes in. One is made for each walk over a model,
/// for it does not follow what others change.
class GraphEdit {
 public:
  GraphEdit(onnx::ModelProto& model, TensorSource& source);

  struct Constant {
    std::vector<int64_t> extents;
    std::vector<float> values;
  };
  /// Of an initializer, or of a Constant node's tensor; nothing where the tensor is none of
  /// float32.
  std::optional<Constant> constant(const std::string& name) const;

  /// The nodes of the graph itself that read a tensor, once for each input.
  const std::vector<onnx::NodeProto*>& users(const std::string& tensor) const;
  /// The only reader of a tensor; null where there are more, or graphs inside read it, or the
  /// caller.
  onnx::NodeProto* only_user(const std::string& tensor) const;

  /// An initializer with a name like this one.
  std::string add_constant(const std::string& name, const Constant& constant);
  /// A new node in front of another one, with one output of a name like this one.
  onnx::NodeProto& add_node_before(const onnx::NodeProto& user, const char* type,
                                   const std::string& output);

  /// Makes the changes of nodes, and takes out constants that only they have read before.
  void finish();

 private:
  std::string unique(const std::string& name);

  onnx::GraphProto& graph_;
  TensorSource& source_;
  std::multiset<std::string> reads_;  // of all graphs
  std::set<std::string> names_;       // that are taken
  std::map<std::string, const onnx::TensorProto*> constants_;
  std::map<std::string, std::vector<onnx::NodeProto*>> users_;
  std::map<const onnx::NodeProto*, std::vector<onnx::NodeProto*>> added_;  // in front of which
};

/// The integer of an attribute, or else `otherwise`.
int64_t int_attribute(const onnx::NodeProto& node, const char* name, int64_t otherwise);
float float_attribute(const onnx::NodeProto& node, const char* name, float otherwise);

}  // namespace tenon
