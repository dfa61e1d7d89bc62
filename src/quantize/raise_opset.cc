#include "quantize/raise_opset.h"

#include <fmt/format.h>
#include <onnx_schema.pb.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "quantize/graph_edit.h"

namespace tenon {
namespace {

constexpr int64_t kPerChannel = 13;  // which opset this makes
constexpr int64_t kIrOfPerChannel = 7;

using NodeAction = std::function<void(onnx::NodeProto&)>;

// Of the graph and those inside it.
void for_each_node(onnx::GraphProto& graph, const NodeAction& action) {
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    if (is_standard(node.domain())) action(node);
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) for_each_node(*attribute.mutable_g(), action);
      for (onnx::GraphProto& inner : *attribute.mutable_graphs()) for_each_node(inner, action);
    }
  }
}

bool is_one_of(const onnx::NodeProto& node, std::initializer_list<const char*> types) {
  return std::ranges::any_of(types, [&](const char* type) { return node.op_type() == type; });
}

bool is_softmax(const onnx::NodeProto& node) {
  return is_one_of(node, {"Softmax", "LogSoftmax", "Hardmax"});
}

// Until opset 12 these flatten the data at their axis, so they go along the last one only where it
// is that.
std::string why_not(const onnx::NodeProto& node, const TensorRanks& ranks) {
  const int64_t axis = int_attribute(node, "axis", 1);
  if (axis == -1) return "";
  const auto rank = ranks.find(node.input(0));
  if (rank != ranks.end() && (axis == rank->second - 1 || (axis == 0 && rank->second == 1)))
    return "";
  return fmt::format("node '{}' ({}) goes over more than the last axis, or data of unknown rank",
                     node.name(), node.op_type());
}

void set_axis(onnx::NodeProto& node, int64_t axis) {
  for (onnx::AttributeProto& attribute : *node.mutable_attribute())
    if (attribute.name() == "axis") return attribute.set_i(axis);
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("axis");
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(axis);
}

void remove_attribute(onnx::NodeProto& node, const std::string& name) {
  auto& attributes = *node.mutable_attribute();
  attributes.erase(std::remove_if(attributes.begin(), attributes.end(),
                                  [&](const auto& a) { return a.name() == name; }),
                   attributes.end());
}

// The integers of an attribute become a constant input, the second.
class ConstantInputs {
 public:
  explicit ConstantInputs(onnx::GraphProto& graph) : graph_(graph) {
    std::multiset<std::string> read;
    add_read_names(graph, read);
    names_.insert(read.begin(), read.end());
    for (const auto& tensor : graph.initializer()) names_.insert(tensor.name());
  }

  void move(onnx::NodeProto& node, const std::string& name) {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.name() != name || node.input_size() != 1) continue;
      onnx::TensorProto& tensor = *graph_.add_initializer();
      std::string unique = node.output(0) + "_" + name;
      while (!names_.insert(unique).second) unique += "_";
      tensor.set_name(unique);
      tensor.set_data_type(onnx::TensorProto::INT64);
      tensor.add_dims(attribute.ints_size());
      const std::vector<int64_t> numbers(attribute.ints().begin(), attribute.ints().end());
      tensor.set_raw_data(numbers.data(), numbers.size() * sizeof(int64_t));
      node.add_input(unique);
    }
    remove_attribute(node, name);
  }

 private:
  onnx::GraphProto& graph_;
  std::set<std::string> names_;
};

void raise_node(onnx::NodeProto& node, ConstantInputs& inputs) {
  if (is_one_of(node, {"Squeeze", "Unsqueeze", "ReduceSum"})) inputs.move(node, "axes");
  if (node.op_type() == "Split") inputs.move(node, "split");
  if (node.op_type() == "Dropout") remove_attribute(node, "ratio");
  if (is_softmax(node)) set_axis(node, -1);
}

}  // namespace

std::string raise_opset(onnx::ModelProto& model, const TensorRanks& ranks) {
  const int64_t opset = standard_opset(model.opset_import());
  if (opset != 11 && opset != 12) return "";
  std::string reason;
  onnx::GraphProto& graph = *model.mutable_graph();
  for_each_node(graph, [&](onnx::NodeProto& node) {
    if (is_softmax(node) && reason.empty()) reason = why_not(node, ranks);
  });
  if (!reason.empty()) return reason;
  ConstantInputs inputs(graph);
  for_each_node(graph, [&](onnx::NodeProto& node) { raise_node(node, inputs); });
  for (auto& import : *model.mutable_opset_import())
    if (is_standard(import.domain())) import.set_version(kPerChannel);
  model.set_ir_version(std::max(model.ir_version(), kIrOfPerChannel));
  return "";
}

}  // namespace tenon
