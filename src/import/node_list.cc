#include "import/node_list.h"

#include <onnx_schema.pb.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "onnx_model/node_order.h"

namespace tenon {
namespace {

using Names = std::unordered_set<std::string_view>;

bool reads(const onnx::NodeProto& node, const Names& names);

bool reads(const onnx::GraphProto& graph, const Names& names) {
  return std::any_of(graph.node().begin(), graph.node().end(),
                     [&](const auto& node) { return reads(node, names); })
         || std::any_of(graph.output().begin(), graph.output().end(),
                        [&](const auto& output) { return names.contains(output.name()); });
}

// Names of tensors are unique across a graph and those inside it.
bool reads(const onnx::NodeProto& node, const Names& names) {
  const auto read = [&](const std::string& name) { return names.contains(name); };
  if (std::any_of(node.input().begin(), node.input().end(), read)) return true;
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g() && reads(attribute.g(), names)) return true;
    for (const auto& graph : attribute.graphs())
      if (reads(graph, names)) return true;
  }
  return false;
}

void add_outputs(const onnx::NodeProto& node, Names& names) {
  for (const std::string& output : node.output())
    if (!output.empty()) names.insert(output);
}

// What such a node makes may have several ranks, so that it may take followers, too.
bool may_have_ranks(const onnx::NodeProto& node) {
  return node.op_type() == "Squeeze" && node.input_size() == 1 && node.attribute_size() == 0;
}

// From position `from` on, the nodes that read what `made` has, which then has what they make.
std::vector<bool> readers(const std::vector<onnx::NodeProto*>& nodes, size_t from, Names& made) {
  std::vector<bool> found(nodes.size());
  for (size_t i = from; i < nodes.size(); ++i) {
    found[i] = reads(*nodes[i], made);
    if (found[i]) add_outputs(*nodes[i], made);
  }
  return found;
}

// One of several ranks goes along where followers need what is made of it: it would take that away
// from them.
void add_needed(const std::vector<onnx::NodeProto*>& nodes, size_t from, std::vector<bool>& follows,
                Names& made) {
  for (size_t i = from; i < nodes.size(); ++i) {
    if (follows[i] || !may_have_ranks(*nodes[i])) continue;
    Names of_it;
    add_outputs(*nodes[i], of_it);
    const std::vector<bool> behind = readers(nodes, i + 1, of_it);
    bool is_needed = false;
    for (size_t k = i + 1; k < nodes.size(); ++k)
      is_needed = is_needed || (follows[k] && behind[k]);
    if (!is_needed) continue;
    follows[i] = true;
    for (size_t k = i + 1; k < nodes.size(); ++k) follows[k] = follows[k] || behind[k];
    made.insert(of_it.begin(), of_it.end());
    i = from - 1;  // others may be needed now
  }
}

}  // namespace

NodeList::NodeList(Nodes& nodes, std::vector<std::string> outputs) : outputs_(std::move(outputs)) {
  for (int i : node_order(nodes)) nodes_.push_back({nodes.Mutable(i), i});
}

bool NodeList::next() {
  if (at_ == nodes_.size()) return false;
  ++at_;
  return true;
}

NodeList NodeList::take_followers() {
  Names made;
  add_outputs(current(), made);
  std::vector<onnx::NodeProto*> nodes;
  for (const Entry& entry : nodes_) nodes.push_back(entry.node);
  std::vector<bool> follows = readers(nodes, at_, made);
  add_needed(nodes, at_, follows, made);
  NodeList followers;
  std::vector<Entry> rest;
  for (size_t i = 0; i < nodes_.size(); ++i)
    (follows[i] ? followers.nodes_ : rest).push_back(nodes_[i]);
  nodes_ = std::move(rest);
  std::copy_if(outputs_.begin(), outputs_.end(), std::back_inserter(followers.outputs_),
               [&](const std::string& name) { return made.contains(name); });
  for (const Entry& entry : followers.nodes_) taken_.emplace_back(index(), entry.index);
  followers.copied_ = copied_;
  return followers;
}

std::vector<int> NodeList::taken_by(int index) const {
  std::vector<int> positions;
  for (const auto& [by, position] : taken_)
    if (by == index) positions.push_back(position);
  return positions;
}

void NodeList::prepend(const onnx::NodeProto& node) {
  prepended_ = std::make_shared<Nodes>();
  *prepended_->Add() = node;
  nodes_.insert(nodes_.begin() + static_cast<std::ptrdiff_t>(at_), {prepended_->Mutable(0), -1});
}

NodeList NodeList::copy() const {
  NodeList twin;
  twin.outputs_ = outputs_;
  twin.copied_ = std::make_shared<Nodes>();
  for (const Entry& entry : nodes_) {
    onnx::NodeProto* node = twin.copied_->Add();
    *node = *entry.node;
    twin.nodes_.push_back({node, entry.index});
  }
  return twin;
}

}  // namespace tenon
