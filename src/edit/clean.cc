// What a graph does not need: unused nodes and tensors, equal ones.
#include <tenon/onnx.h>

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>

#include "edit/graph_uses.h"
#include "edit/store.h"
#include "edit/values.h"
#include "edit/wire.h"

namespace tenon::edit {
namespace {

bool is_used(const Store& store, Id graph, const NodeContent& node) {
  return std::ranges::any_of(node.outputs, [&](std::string_view output) {
    return !output.empty() && store.has_users(graph, output);
  });
}

size_t remove_unused_nodes(Store& store, Id graph) {
  const auto nodes = store.items(graph, Kind::kNode);
  std::deque<Id> pending(nodes.rbegin(), nodes.rend());
  size_t count = 0;
  while (!pending.empty()) {
    const Id id = pending.front();
    pending.pop_front();
    // What has no outputs, or is there for its effect, nobody reads.
    if (!store.item(id).is_linked || store.node(id).outputs.empty()
        || is_used(store, graph, store.node(id)))
      continue;
    const auto reads = reads_of(store, id);
    store.remove(id);
    ++count;
    for (const std::string_view read : reads) {
      const Id producer = store.producer(graph, read);
      if (producer != kNone && store.item(producer).kind == Kind::kNode
          && store.item(producer).container == graph)
        pending.push_back(producer);
    }
  }
  return count;
}

// Nothing describes or reads what is not there.
size_t remove_unused_values(Store& store, Id graph) {
  size_t count = 0;
  for (const Id id : store.items(graph, Kind::kInitializer)) {
    const std::string_view name = store.content(id).name;
    if (store.has_users(graph, name)) continue;
    const Id type = store.type_of(graph, name);
    const bool is_input = type != kNone && store.item(type).kind == Kind::kInput;
    if (is_input && number_field(store.file(), 1) >= 4) continue;
    store.remove(id);
    if (is_input) store.remove(type);  // before, every initializer had to be one
    ++count;
  }
  for (const Id id : store.items(graph, Kind::kValueInfo))
    if (const Id producer = store.producer(graph, store.content(id).name); producer == kNone)
      store.remove(id);
  return count;
}

// What two equal nodes have in common.
std::string signature_of(const NodeContent& node) {
  std::string text;
  append_bytes(text, 1, node.op_type);
  append_bytes(text, 2, node.domain);
  append_bytes(text, 3, node.overload);
  for (const std::string_view input : node.inputs) append_bytes(text, 4, input);
  std::map<std::string_view, std::string_view> attributes;
  for (const AttributeContent& attribute : node.attributes)
    attributes.emplace(attribute.name, attribute.bytes);
  for (const auto& [name, bytes] : attributes) append_bytes(text, 5, bytes);
  append_number(text, 6, node.outputs.size());
  return text;
}

bool can_share(const Store& store, Id graph, const NodeContent& node) {
  if (node.outputs.empty() || node.op_type.starts_with("Random") || node.op_type == "Multinomial"
      || node.op_type == "Bernoulli" || node.op_type == "Dropout" || !is_standard_node(node))
    return false;
  for (const AttributeContent& attribute : node.attributes)
    if (!attribute.graphs.empty()) return false;
  return std::ranges::none_of(node.outputs,
                              [&](auto output) { return is_output(store, graph, output); });
}

size_t share_nodes(Store& store, Id graph) {
  size_t count = 0;
  std::unordered_map<std::string, Id> first;
  for (const Id id : store.items(graph, Kind::kNode)) {
    if (!can_share(store, graph, store.node(id))) continue;
    const auto [found, is_new] = first.emplace(signature_of(store.node(id)), id);
    if (is_new) continue;
    const std::vector<std::string_view> outputs = store.node(id).outputs;
    const auto& kept = store.node(found->second).outputs;
    if (std::ranges::any_of(kept, [](auto name) { return name.empty(); })) continue;
    store.remove(id);
    for (size_t i = 0; i < outputs.size(); ++i)
      if (!outputs[i].empty()) store.replace_uses(graph, outputs[i], kept[i]);
    ++count;
  }
  return count;
}

// Equal tensors, of their type, shape and bytes.
size_t share_initializers(Store& store, Id graph) {
  size_t count = 0;
  std::unordered_map<std::string_view, std::vector<Id>> by_bytes;
  for (const Id id : store.items(graph, Kind::kInitializer)) {
    const StoredTensor stored = stored_tensor(store.content(id));
    const Id type = store.type_of(graph, stored.name);
    if (!stored.raw || (type != kNone && store.item(type).kind != Kind::kValueInfo)) continue;
    // The beginning tells most apart; all bytes decide.
    auto& group = by_bytes[stored.raw->substr(0, 64)];
    const auto same = std::ranges::find_if(group, [&](Id other) {
      const StoredTensor kept = stored_tensor(store.content(other));
      return kept.type == stored.type && kept.dims == stored.dims && *kept.raw == *stored.raw;
    });
    if (same == group.end()) {
      group.push_back(id);
      continue;
    }
    const std::string_view name = stored.name;
    const std::string_view kept = store.content(*same).name;
    store.remove(id);
    store.replace_uses(graph, name, kept);
    ++count;
  }
  return count;
}

template <class Work> size_t in_graphs(Store& store, Work&& work) {
  size_t count = 0;
  for (const Id graph : store.containers()) count += work(graph);
  return count;
}

}  // namespace

size_t remove_unused(Model& model) {
  Store& store = model.store();
  return in_graphs(store, [&](Id graph) {
    return remove_unused_nodes(store, graph) + remove_unused_values(store, graph);
  });
}

size_t share_equal(Model& model) {
  Store& store = model.store();
  return in_graphs(store, [&](Id graph) {
    return share_initializers(store, graph) + share_nodes(store, graph);
  });
}

}  // namespace tenon::edit
