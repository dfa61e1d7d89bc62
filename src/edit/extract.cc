// A part of the graph between tensors, and other names for tensors and nodes.
#include <tenon/onnx.h>
#include <tenon/printable.h>

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "edit/graph_uses.h"
#include "edit/shapes.h"
#include "edit/store.h"
#include "edit/values.h"
#include "edit/wire.h"

namespace tenon::edit {
namespace {

// Values that cuts leave open become inputs, with what is known of their types.
std::string info_of(Store& store, std::string_view name, std::optional<Types>& inferred) {
  const Id type = store.type_of(store.graph(), name);
  if (type != kNone) return std::string(store.content(type).fields);
  const Id producer = store.producer(store.graph(), name);
  if (producer != kNone && store.item(producer).kind == Kind::kInitializer) {
    const StoredTensor stored = stored_tensor(store.content(producer));
    TensorType known{stored.type, true, {}};
    for (const int64_t extent : stored.dims) known.shape.push_back({extent, ""});
    return value_info(name, known);
  }
  if (!inferred) inferred = infer_types(store);
  if (const auto found = inferred->find(std::string(name)); found != inferred->end())
    return value_info(name, found->second);
  std::string bare;
  append_bytes(bare, 1, name);
  return bare;
}

void require_tensor(const Store& store, const std::string& name) {
  require(store.producer(store.graph(), name) != kNone, ErrorClass::kNotInModel,
          "there is no tensor '{}'", printable(name));
}

struct Cut {
  std::unordered_set<Id> nodes;
  std::unordered_set<std::string_view> values;  // that the nodes and outputs read
};

Cut cut_between(const Store& store, const std::unordered_set<std::string_view>& inputs,
                const std::vector<std::string>& outputs) {
  Cut cut;
  std::vector<std::string_view> pending(outputs.begin(), outputs.end());
  while (!pending.empty()) {
    const std::string_view name = pending.back();
    pending.pop_back();
    if (!cut.values.insert(name).second || inputs.contains(name)) continue;
    const Id producer = store.producer(store.graph(), name);
    if (producer == kNone || store.item(producer).kind != Kind::kNode) continue;
    if (!cut.nodes.insert(producer).second) continue;
    for (const std::string_view read : reads_of(store, producer)) pending.push_back(read);
  }
  return cut;
}

// A node that stays for its other outputs no longer gives what is an input now.
void leave_out(Store& store, Id id, const std::unordered_set<std::string_view>& inputs) {
  const auto& outputs = store.node(id).outputs;
  if (std::ranges::none_of(outputs, [&](auto name) { return inputs.contains(name); })) return;
  NodeDraft draft = store.draft(id);
  for (std::string_view& output : draft.content.outputs)
    if (inputs.contains(output)) output = {};
  store.replace_node(id, std::move(draft));
}

void set_list(Store& store, Kind kind, uint32_t field, const std::vector<std::string>& names,
              std::optional<Types>& inferred) {
  std::vector<std::string> infos;
  for (const std::string& name : names) infos.push_back(info_of(store, name, inferred));
  for (const Id id : store.items(store.graph(), kind)) store.remove(id);
  for (const std::string& info : infos) store.insert(store.graph(), kind, field, info);
}

}  // namespace

void extract(Model& model, const std::vector<std::string>& inputs,
             const std::vector<std::string>& outputs) {
  Store& store = model.store();
  require(!outputs.empty(), "name at least one tensor that is to be an output");
  for (const auto* names : {&inputs, &outputs})
    for (size_t i = 0; i < names->size(); ++i) {
      require_tensor(store, (*names)[i]);
      require(std::find(names->begin(), names->begin() + static_cast<ptrdiff_t>(i), (*names)[i])
                  == names->begin() + static_cast<ptrdiff_t>(i),
              "'{}' is named twice among the {}", printable((*names)[i]),
              names == &inputs ? "inputs" : "outputs");
    }
  const Cut cut = cut_between(store, {inputs.begin(), inputs.end()}, outputs);
  std::vector<std::string> needed;
  for (const Id id : store.items(store.graph(), Kind::kInput)) {
    const std::string name(store.content(id).name);
    const bool is_named = std::ranges::find(inputs, name) != inputs.end();
    if (is_named || !cut.values.contains(name)) continue;
    const bool has_default =
        store.item(store.producer(store.graph(), name)).kind == Kind::kInitializer;
    require(inputs.empty() || has_default,
            "the outputs also need the input '{}': name it, or a tensor behind it",
            printable(name));
    needed.push_back(name);
  }
  std::vector<std::string> all = inputs;
  all.insert(all.end(), needed.begin(), needed.end());
  for (const std::string& name : inputs)
    require(cut.values.contains(name), ErrorClass::kNotInModel, "no output needs '{}'",
            printable(name));
  std::optional<Types> inferred;
  for (const std::string& name : outputs) info_of(store, name, inferred);  // of the whole model
  set_list(store, Kind::kInput, 11, all, inferred);
  set_list(store, Kind::kOutput, 12, outputs, inferred);
  for (const Id id : store.items(store.graph(), Kind::kNode))
    if (!cut.nodes.contains(id)) store.remove(id);
  const std::unordered_set<std::string_view> cut_off(inputs.begin(), inputs.end());
  for (const Id id : cut.nodes) leave_out(store, id, cut_off);
  for (const Id id : store.items(store.graph(), Kind::kInitializer)) {
    const std::string_view name = store.content(id).name;
    if (!cut.values.contains(name) || cut_off.contains(name)) store.remove(id);
  }
  for (const Id id : store.items(store.graph(), Kind::kValueInfo)) {
    const std::string_view name = store.content(id).name;
    const Id producer = store.producer(store.graph(), name);
    if (producer == kNone || cut_off.contains(name)) store.remove(id);
  }
}

void rename_tensor(Model& model, const std::string& from, const std::string& to) {
  Store& store = model.store();
  require_tensor(store, from);
  require(!to.empty() && !store.is_name_used(to), "a tensor '{}' is there already", printable(to));
  rename_value(store, store.graph(), from, store.keep(to));
}

void rename_node(Model& model, const std::string& from, const std::string& to) {
  Store& store = model.store();
  const auto node = model.find_node(from);
  require(node.has_value(), ErrorClass::kNotInModel, "there is no node '{}'", printable(from));
  NodeDraft draft = store.draft(node->number);
  draft.name = store.keep(to);
  store.replace_node(node->number, std::move(draft));
}

}  // namespace tenon::edit
