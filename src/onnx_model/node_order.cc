#include "onnx_model/node_order.h"

#include <onnx_schema.pb.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <string_view>
#include <unordered_map>

namespace tenon {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

class NodeOrder {
 public:
  explicit NodeOrder(const Nodes& nodes)
      : readers_(static_cast<size_t>(nodes.size())), unmade_(readers_.size()) {
    producers_.reserve(readers_.size());
    for (int i = 0; i < nodes.size(); ++i)
      for (const std::string& output : nodes[i].output()) producers_.emplace(output, i);
    for (int i = 0; i < nodes.size(); ++i) add_reads(nodes[i], i);
  }

  std::vector<int> take() {
    std::vector<int> order(readers_.size());
    std::iota(order.begin(), order.end(), 0);
    if (is_sorted_) return order;
    order.clear();
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (size_t i = 0; i < unmade_.size(); ++i)
      if (unmade_[i] == 0) ready.push(static_cast<int>(i));
    while (!ready.empty()) {
      const int node = ready.top();
      ready.pop();
      order.push_back(node);
      for (int reader : readers_[static_cast<size_t>(node)])
        if (--unmade_[static_cast<size_t>(reader)] == 0) ready.push(reader);
    }
    for (size_t i = 0; i < unmade_.size(); ++i)
      if (unmade_[i] > 0) order.push_back(static_cast<int>(i));
    return order;
  }

 private:
  void add_reads(const onnx::NodeProto& node, int reader) {
    for (const std::string& input : node.input()) add_read(input, reader);
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) add_reads(attribute.g(), reader);
      for (const auto& graph : attribute.graphs()) add_reads(graph, reader);
    }
  }
  // Names of tensors are unique across a graph and those inside it.
  void add_reads(const onnx::GraphProto& graph, int reader) {
    for (const auto& node : graph.node()) add_reads(node, reader);
    for (const auto& output : graph.output()) add_read(output.name(), reader);
  }
  void add_read(const std::string& name, int reader) {
    if (name.empty()) return;
    const auto it = producers_.find(name);
    if (it == producers_.end()) return;
    readers_[static_cast<size_t>(it->second)].push_back(reader);
    ++unmade_[static_cast<size_t>(reader)];
    is_sorted_ = is_sorted_ && it->second < reader;
  }

  std::unordered_map<std::string_view, int> producers_;
  std::vector<std::vector<int>> readers_;  // of each node's outputs
  std::vector<int> unmade_;                // of each node's inputs, those that are not made yet
  bool is_sorted_ = true;
};

}  // namespace

std::vector<int> node_order(const Nodes& nodes) {
  return NodeOrder(nodes).take();
}

}  // namespace tenon
