#include "network/patch.h"

namespace tenon {
namespace {

// TensorRT's separator between the metadata of layers that were merged.
constexpr const char* kMetadataSeparator = "\x1E";

std::string joined(const std::vector<Node*>& nodes, std::string Node::* text, const char* between) {
  std::string all;
  for (const Node* node : nodes) {
    if ((node->*text).empty()) continue;
    if (!all.empty()) all += between;
    all += node->*text;
  }
  return all;
}

// What is known of the replaced tensor holds for the new one.
void inherit(Value& to, const Value& from) {
  to.name = from.name;
  to.type = from.type;
  to.dims = from.dims;
  to.known = from.known;
  to.content = from.content;
}

}  // namespace

Value& Patch::weight(Tensor tensor, std::string name, std::shared_ptr<const Folded> folded) {
  Value& v = weights_.emplace_back();
  v.name = std::move(name);
  v.folded = std::move(folded);
  v.type = tensor.type();
  v.constant = std::move(tensor);
  return v;
}

void Patch::fuse(std::unique_ptr<Op> op, std::vector<Value*> inputs,
                 const std::vector<Node*>& merged) {
  fuse(std::move(op), std::move(inputs), merged, merged.back()->outputs);
}

void Patch::fuse(std::unique_ptr<Op> op, std::vector<Value*> inputs,
                 const std::vector<Node*>& merged, std::vector<Value*> outputs) {
  for (const Node* node : merged) removed_.insert(node);
  nodes_.push_back({std::move(op), std::move(inputs), merged, std::move(outputs)});
}

void Patch::replace(Value& from, Value& to) {
  replacements_[&from] = &to;
}

void Patch::apply(Network& network) && {
  std::unordered_map<Value*, Value*> replacements = std::move(replacements_);
  std::unordered_map<Value*, Value*> made;  // by the patch's own
  for (Value& added : weights_) {
    Value& weight = network.add_weight(std::move(*added.constant), std::move(added.name));
    weight.folded = std::move(added.folded);
    made[&added] = &weight;
  }
  const auto real = [&](Value* v) {
    const auto it = made.find(v);
    return it == made.end() ? v : it->second;
  };
  for (auto& [from, to] : replacements) to = real(to);

  std::vector<Node*> added;
  std::unordered_map<const Node*, const Node*> places;
  for (NewNode& wanted : nodes_) {
    for (Value*& in : wanted.inputs) in = real(in);
    const Node &first = *wanted.merged.front(), &place = *wanted.outputs.front()->producer;
    Node& node = network.add_node(std::move(wanted.op), std::move(wanted.inputs),
                                  joined(wanted.merged, &Node::name, " + "));
    node.metadata = joined(wanted.merged, &Node::metadata, kMetadataSeparator);
    node.precision = first.precision;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const Value& from = *wanted.outputs[i];
      node.output_types[i] = from.producer->output_types[static_cast<size_t>(from.output_index)];
      inherit(*node.outputs[i], from);
      replacements[wanted.outputs[i]] = node.outputs[i];
    }
    places[&node] = &place;
    added.push_back(&node);
  }
  network.replace_uses(replacements);
  for (Node* node : added) {
    const DataType before = node->outputs[0]->type;
    network.infer(*node);
    if (node->outputs[0]->type != before)
      fail(ErrorCode::kINTERNAL_ERROR, "the rewritten layer {} gives {} instead of {}",
           describe(*node), name_of(node->outputs[0]->type), name_of(before));
  }
  network.move_nodes(places);
  network.remove_nodes(removed_);
  network.remove_unused_weights();
}

bool can_replace(const Value& from, const Value& to) {
  if (from.type != to.type) return false;
  return !from.is_output || (!to.is_input && !to.is_output && !to.constant);
}

}  // namespace tenon
