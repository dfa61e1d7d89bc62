// Conditionals whose condition is known: the branch comes into the graph around it.
#include <tenon/onnx.h>

#include "base/error.h"
#include "edit/graph_uses.h"
#include "edit/shapes.h"
#include "edit/undone.h"
#include "edit/values.h"
#include "edit/wire.h"

namespace tenon::edit {
namespace {

std::optional<bool> condition_of(Store& store, Id graph, const NodeContent& node,
                                 const std::unordered_map<std::string_view, Tensor>& known) {
  if (node.inputs.empty()) return std::nullopt;
  auto tensor = constant_of(store, graph, node.inputs[0]);
  const auto found = known.find(node.inputs[0]);
  if (!tensor && graph == store.graph() && found != known.end()) tensor = found->second;
  if (!tensor || tensor->type() != DataType::kBOOL || tensor->count() != 1) return std::nullopt;
  return tensor->data<bool>()[0];
}

// Everything that the branch defines gets a name that is new in the model.
void rename_all(Store& store, Id branch) {
  std::vector<std::string_view> names;
  for (const Id id : store.items(branch, Kind::kInitializer))
    names.push_back(store.content(id).name);
  for (const Id id : store.items(branch, Kind::kNode))
    for (const std::string_view output : store.node(id).outputs)
      if (!output.empty()) names.push_back(output);
  for (const std::string_view name : names)
    rename_value(store, branch, name, store.new_name(std::string(name)));
}

// Functions have no initializers.
void insert_constant(Store& store, Id function, const Content& content, Id before) {
  std::string tensor(content.fields), value;
  if (content.record.empty()) append_bytes(tensor, 9, content.raw);
  append_bytes(value, 1, "value");
  append_bytes(value, 5, tensor);
  append_number(value, 20, 4);  // of a tensor
  NodeDraft draft = standard_node(store, "Constant", "", {}, {content.name});
  draft.set({"value", store.keep(std::move(value)), {}});
  store.insert_node(function, std::move(draft), before);
}

void move_items(Store& store, Id branch, Id graph, Id before) {
  const bool is_function = store.container(graph).kind == Container::Kind::kFunction;
  for (const Id id : store.items(branch, Kind::kInitializer)) {
    const Content& content = store.content(id);
    if (is_function)
      insert_constant(store, graph, content, before);
    else if (content.record.empty())
      store.insert_tensor(graph, content.fields, content.raw);
    else
      store.insert(graph, Kind::kInitializer, 5, content.fields);
  }
  for (const Id id : store.items(branch, Kind::kNode)) {
    const std::string record = store.record(id);
    Records records(record);
    store.insert(graph, Kind::kNode, is_function ? 7 : 1, records.next()->payload, before);
  }
}

bool has_sparse_initializers(const Store& store, Id graph) {
  for (const Id id : store.items(graph, Kind::kOther))
    if (store.item(id).field == 15) return true;
  return false;
}

void inline_branch(Store& store, Id graph, Id id, Id branch) {
  const std::vector<std::string_view> outputs = store.node(id).outputs;
  rename_all(store, branch);
  std::vector<std::string_view> results;
  for (const Id output : store.items(branch, Kind::kOutput))
    results.push_back(store.content(output).name);
  require(results.size() == outputs.size(), "{} has {} outputs, and its branch {}",
          description(store, id), outputs.size(), results.size());
  const Id before = store.item(id).next;
  store.remove(id);
  move_items(store, branch, graph, before);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!outputs[i].empty())
      store.insert_node(graph, standard_node(store, "Identity", "", {results[i]}, {outputs[i]}),
                        before);
}

bool has_conditions(const Store& store) {
  for (const Id graph : store.containers())
    for (const Id id : store.items(graph, Kind::kNode))
      if (store.node(id).op_type == "If") return true;
  return false;
}

size_t resolve(Model& model) {
  Store& store = model.store();
  if (!has_conditions(store)) return 0;
  const auto known = infer(store).constants;
  size_t count = 0;
  for (const Id graph : store.containers()) {
    const Id owner = store.container(graph).owner;
    for (const Id id : store.items(graph, Kind::kNode)) {
      if (!store.item(owner).is_indexed) break;  // it was in a branch that is gone
      const NodeContent& node = store.node(id);
      if (node.op_type != "If" || !is_standard_node(node)) continue;
      const auto condition = condition_of(store, graph, node, known);
      const AttributeContent* branch =
          condition ? node.find(*condition ? "then_branch" : "else_branch") : nullptr;
      if (branch == nullptr || branch->graphs.size() != 1) continue;
      if (has_sparse_initializers(store, branch->graphs[0])) continue;
      inline_branch(store, graph, id, branch->graphs[0]);
      ++count;
    }
  }
  if (count > 0) {
    remove_without_effect(model);
    remove_unused(model);
  }
  return count;
}

}  // namespace

size_t resolve_conditions(Model& model) {
  return undone_unless(model, [&] { return resolve(model); });
}

}  // namespace tenon::edit
