#include "quantize/graph_edit.h"

#include <onnx_schema.pb.h>

#include <algorithm>

namespace tenon {

void add_read_names(const onnx::GraphProto& graph, std::multiset<std::string>& names) {
  for (const auto& output : graph.output()) names.insert(output.name());
  for (const auto& node : graph.node()) {
    names.insert(node.input().begin(), node.input().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) add_read_names(attribute.g(), names);
      for (const auto& inner : attribute.graphs()) add_read_names(inner, names);
    }
  }
}

GraphEdit::GraphEdit(onnx::ModelProto& model, TensorSource& source)
    : graph_(*model.mutable_graph()), source_(source) {
  add_read_names(graph_, reads_);
  names_.insert(reads_.begin(), reads_.end());
  for (const auto& input : graph_.input()) names_.insert(input.name());
  for (const auto& tensor : graph_.initializer()) {
    names_.insert(tensor.name());
    constants_[tensor.name()] = &tensor;
  }
  for (auto& node : *graph_.mutable_node()) {
    for (const auto& input : node.input()) users_[input].push_back(&node);
    names_.insert(node.output().begin(), node.output().end());
    for (const auto& attribute : node.attribute())
      if (node.op_type() == "Constant" && attribute.name() == "value" && node.output_size() == 1)
        constants_[node.output(0)] = &attribute.t();
  }
}

std::optional<GraphEdit::Constant> GraphEdit::constant(const std::string& name) const {
  const auto found = constants_.find(name);
  if (found == constants_.end() || found->second->data_type() != onnx::TensorProto::FLOAT)
    return std::nullopt;
  onnx::TensorProto copy = *found->second;  // which make_tensor() empties
  const Tensor tensor = make_tensor(copy, source_);
  const auto* values = tensor.data<float>();
  return Constant{{found->second->dims().begin(), found->second->dims().end()},
                  {values, values + tensor.count()}};
}

const std::vector<onnx::NodeProto*>& GraphEdit::users(const std::string& tensor) const {
  static const std::vector<onnx::NodeProto*> kNone;
  const auto found = users_.find(tensor);
  return found == users_.end() ? kNone : found->second;
}

onnx::NodeProto* GraphEdit::only_user(const std::string& tensor) const {
  const auto& all = users(tensor);
  return all.size() == 1 && reads_.count(tensor) == 1 ? all.front() : nullptr;
}

std::string GraphEdit::add_constant(const std::string& name, const Constant& constant) {
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name(unique(name));
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t extent : constant.extents) tensor.add_dims(extent);
  tensor.set_raw_data(constant.values.data(), constant.values.size() * sizeof(float));
  return tensor.name();
}

onnx::NodeProto& GraphEdit::add_node_before(const onnx::NodeProto& user, const char* type,
                                            const std::string& output) {
  auto* const node = new onnx::NodeProto;  // the graph's, when all is done
  added_[&user].push_back(node);
  node->set_op_type(type);
  node->add_output(unique(output));
  node->set_name(node->output(0));
  return *node;
}

void GraphEdit::finish() {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  std::vector<onnx::NodeProto*> old(graph_.mutable_node()->size());
  graph_.mutable_node()->ExtractSubrange(0, static_cast<int>(old.size()), old.data());
  for (onnx::NodeProto* const node : old) {
    for (onnx::NodeProto* const made : added_[node]) nodes.AddAllocated(made);
    nodes.AddAllocated(node);
  }
  graph_.mutable_node()->Swap(&nodes);
  std::multiset<std::string> reads;
  add_read_names(graph_, reads);
  const auto is_unread = [&](const std::string& name) {
    return reads_.contains(name) && !reads.contains(name);
  };
  // Old exporters name initializers among the inputs, too.
  const auto remove_unread = [&](auto& entries) {
    entries.erase(std::remove_if(entries.begin(), entries.end(),
                                 [&](const auto& entry) {
                                   return constants_.contains(entry.name())
                                          && is_unread(entry.name());
                                 }),
                  entries.end());
  };
  remove_unread(*graph_.mutable_initializer());
  remove_unread(*graph_.mutable_input());
}

std::string GraphEdit::unique(const std::string& name) {
  std::string result = name;
  for (int i = 1; !names_.insert(result).second; ++i) result = name + "_" + std::to_string(i);
  return result;
}

int64_t int_attribute(const onnx::NodeProto& node, const char* name, int64_t otherwise) {
  for (const auto& attribute : node.attribute())
    if (attribute.name() == name) return attribute.i();
  return otherwise;
}

float float_attribute(const onnx::NodeProto& node, const char* name, float otherwise) {
  for (const auto& attribute : node.attribute())
    if (attribute.name() == name) return attribute.f();
  return otherwise;
}

}  // namespace tenon
