// Nodes found by what they are and what feeds them, and others put in their place.
#include <tenon/onnx.h>
#include <tenon/printable.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/error.h"
#include "edit/graph_uses.h"
#include "edit/undone.h"
#include "edit/values.h"

namespace tenon::edit {
namespace {

class Matching {
 public:
  explicit Matching(const Model& model) : model_(model), store_(model.store()) {}

  bool match(const Pattern& pattern, Id id, std::vector<NodeId>& found) const {
    const NodeContent& node = store_.node(id);
    if (!pattern.op_type.empty() && node.op_type != pattern.op_type) return false;
    if (pattern.predicate && !pattern.predicate(model_, {id})) return false;
    const size_t size = found.size();
    found.push_back({id});
    if (inputs_match(pattern, id, found)) return true;
    found.resize(size);
    return false;
  }

 private:
  // In the order of the inputs; those of a node whose inputs may change sides, in either.
  bool inputs_match(const Pattern& pattern, Id id, std::vector<NodeId>& found) const {
    if (pattern.inputs.empty()) return true;
    const size_t size = found.size();
    std::vector<const Pattern*> inputs;
    for (const Pattern& input : pattern.inputs) inputs.push_back(&input);
    for (bool again = false;; again = true) {
      if (all_match(inputs, id, found)) return true;
      found.resize(size);
      if (again || inputs.size() != 2 || !is_commutative(store_.node(id).op_type)) return false;
      std::swap(inputs[0], inputs[1]);
    }
  }

  bool all_match(const std::vector<const Pattern*>& inputs, Id id,
                 std::vector<NodeId>& found) const {
    const auto& names = store_.node(id).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i]->op_type.empty() && !inputs[i]->predicate) continue;  // anything
      if (i >= names.size()) return false;
      const Id producer = store_.producer(store_.item(id).container, names[i]);
      if (producer == kNone || store_.item(producer).kind != Kind::kNode
          || !match(*inputs[i], producer, found))
        return false;
    }
    return true;
  }

  static bool is_commutative(std::string_view op) {
    return op == "Add" || op == "Mul" || op == "And" || op == "Or" || op == "Min" || op == "Max";
  }

  const Model& model_;
  const Store& store_;
};

// Nodes between tensors of the main graph.
std::vector<Id> nodes_between(const Store& store, const std::vector<std::string>& inputs,
                              const std::vector<std::string>& outputs) {
  const std::set<std::string_view> ends(inputs.begin(), inputs.end());
  std::vector<std::string_view> pending(outputs.begin(), outputs.end());
  std::unordered_set<Id> seen;
  while (!pending.empty()) {
    const std::string_view name = pending.back();
    pending.pop_back();
    if (ends.contains(name)) continue;
    const Id producer = store.producer(store.graph(), name);
    require(producer != kNone, ErrorClass::kNotInModel, "there is no tensor '{}'",
            printable(std::string(name)));
    require(store.item(producer).kind != Kind::kInput,
            "'{}' depends on the input '{}', which is not among the named inputs",
            printable(outputs[0]), printable(std::string(name)));
    if (store.item(producer).kind != Kind::kNode || !seen.insert(producer).second) continue;
    for (const std::string_view read : reads_of(store, producer)) pending.push_back(read);
  }
  std::vector<Id> nodes;
  for (const Id id : store.items(store.graph(), Kind::kNode))
    if (seen.contains(id)) nodes.push_back(id);
  require(!nodes.empty(), ErrorClass::kNotInModel, "there is no node between these tensors");
  return nodes;
}

}  // namespace

std::vector<std::vector<NodeId>> find_pattern(const Model& model, const Pattern& pattern) {
  const Matching matching(model);
  std::vector<std::vector<NodeId>> matches;
  for (const GraphId graph : model.graphs())
    for (const NodeId id : model.nodes(graph)) {
      std::vector<NodeId> found;
      if (matching.match(pattern, id.number, found)) matches.push_back(std::move(found));
    }
  return matches;
}

NodeId replace_between(Model& model, const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs, Node node) {
  return undone_unless(model, [&] {
    Store& store = model.store();
    require(!outputs.empty(), "name at least one tensor that the new node gives");
    const std::vector<Id> nodes = nodes_between(store, inputs, outputs);
    const std::set<std::string_view> given(outputs.begin(), outputs.end());
    for (const Id id : nodes)
      for (const std::string_view output : store.node(id).outputs) {
        if (output.empty() || given.contains(output)) continue;
        for (const Id user : store.users(store.graph(), output))
          require(
              store.item(user).kind == Kind::kNode && std::ranges::find(nodes, user) != nodes.end(),
              "'{}' lies between the tensors, and is read elsewhere: name it as an output",
              printable(std::string(output)));
      }
    // Where the last of them was, all inputs are there.
    Id next = store.item(nodes.back()).next;
    while (next != kNone && store.item(next).kind != Kind::kNode) next = store.item(next).next;
    for (const Id id : nodes) store.remove(id);
    node.inputs = inputs;
    node.outputs = outputs;
    const auto before = next == kNone ? std::nullopt : std::optional<NodeId>(NodeId{next});
    const NodeId made = model.insert_node(model.graph(), node, before);
    remove_unused(model);
    return made;
  });
}

void set_operator(Model& model, NodeId id, const std::string& op_type, const std::string& domain,
                  const std::vector<std::pair<std::string, AttributeValue>>& attributes) {
  Node node = model.node(id);
  node.op_type = op_type;
  node.domain = domain;
  node.attributes = attributes;
  model.replace_node(id, node);
  Store& store = model.store();
  if (!domain.empty() && opset_of(store, 0, domain) == 0) set_opset(store, 0, 1, domain);
}

void remove_nodes(Model& model, const std::vector<std::string>& names) {
  undone_unless(model, [&] {
    for (const std::string& name : names) {
      const auto id = model.find_node(name);
      require(id.has_value(), ErrorClass::kNotInModel, "there is no node '{}'", printable(name));
      const Node node = model.node(*id);
      require(!node.inputs.empty() && !node.outputs.empty(),
              "node '{}' has no input that could stand for its output", printable(name));
      const bool was_output = is_output(model.store(), model.store().graph(), node.outputs[0]);
      const Id producer = model.store().producer(model.store().graph(), node.inputs[0]);
      const bool is_node = producer != kNone && model.store().item(producer).kind == Kind::kNode;
      model.remove_node(*id);
      if (!was_output) {
        model.replace_uses(model.graph(), node.outputs[0], node.inputs[0]);
      } else if (is_node && !is_output(model.store(), model.store().graph(), node.inputs[0])) {
        take_name(model.store(), model.store().graph(), node.inputs[0],
                  model.store().keep(node.outputs[0]));
      } else {
        fail(ErrorCode::kINVALID_ARGUMENT,
             "node '{}' gives the output '{}', which nothing else gives: name other outputs first "
             "(extract)",
             printable(name), printable(node.outputs[0]));
      }
    }
    return 0;
  });
}

}  // namespace tenon::edit
