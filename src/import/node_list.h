// The nodes of a graph on their way into a network.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "onnx_model/model.h"

namespace tenon {

/// Nodes in an order in which they can run. One of them may take those behind it that need what it
/// makes. Points into the graph, which must outlive it.
class NodeList {
 public:
  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

  NodeList() = default;
  /// @param outputs names of what the graph makes.
  NodeList(Nodes& nodes, std::vector<std::string> outputs);

  /// Goes on to the next node; false behind the last.
  bool next();
  onnx::NodeProto& current() const { return *nodes_[at_ - 1].node; }
  /// The current node's position in the graph.
  int index() const { return nodes_[at_ - 1].index; }
  /// Positions of what the node at `index` took.
  std::vector<int> taken_by(int index) const;
  /// The nodes behind the current one that read its outputs, or what such nodes make, also in
  /// graphs inside them; with the outputs of the graph that it and they make. They are taken out of
  /// this list.
  NodeList take_followers();
  /// A node that comes next.
  void prepend(const onnx::NodeProto& node);
  /// The same nodes again: a graph or tensor inside a node can be imported once.
  NodeList copy() const;
  const std::vector<std::string>& outputs() const { return outputs_; }

 private:
  struct Entry {
    onnx::NodeProto* node;
    int index;
  };
  std::vector<Entry> nodes_;
  size_t at_ = 0;
  std::vector<std::pair<int, int>> taken_;  // by which node, which
  std::vector<std::string> outputs_;
  std::shared_ptr<Nodes> copied_;  // what the entries of a copy point to
  std::shared_ptr<Nodes> prepended_;
};

}  // namespace tenon
