#include "edit/graph_uses.h"

#include <unordered_set>

#include "edit/values.h"
#include "edit/wire.h"

namespace tenon::edit {
namespace {

void add_reads(const Store& store, Id graph, std::vector<std::string_view>& reads) {
  std::unordered_set<std::string_view> defined;
  for (const Kind kind : {Kind::kInput, Kind::kInitializer})
    for (const Id id : store.items(graph, kind)) defined.insert(store.content(id).name);
  std::vector<std::string_view> inner;
  for (const Id id : store.items(graph, Kind::kNode)) {
    for (const std::string_view output : store.node(id).outputs) defined.insert(output);
    for (const std::string_view name : reads_of(store, id)) inner.push_back(name);
  }
  for (const Id id : store.items(graph, Kind::kOutput)) inner.push_back(store.content(id).name);
  for (const std::string_view name : inner)
    if (!defined.contains(name)) reads.push_back(name);
}

void rename_in_node(Store& store, Id id, std::string_view from, std::string_view to, bool outputs) {
  NodeDraft draft = store.draft(id);
  for (std::string_view& name : outputs ? draft.content.outputs : draft.content.inputs)
    if (name == from) name = to;
  store.replace_node(id, std::move(draft));
}

void rename_item(Store& store, Id id, std::string_view to) {
  const Content& content = store.content(id);
  const Item item = store.item(id);
  if (item.kind == Kind::kInitializer && content.record.empty())
    store.replace_tensor(id, store.keep(with_name(content.fields, 8, to)), content.raw);
  else if (item.kind == Kind::kInitializer && stored_tensor(content).raw)
    store.replace_tensor(id, store.keep([&] {
      std::string fields;
      Records records(content.fields);
      while (const auto record = records.next())
        if (record->field != 9) fields += record->whole;
      return with_name(fields, 8, to);
    }()),
                         *stored_tensor(content).raw);
  else if (item.kind == Kind::kOther)  // a sparse initializer is called as its values are
    store.replace(id,
                  with_name(content.fields, 1, with_name(bytes_field(content.fields, 1), 8, to)));
  else if (store.container(item.container).kind == Container::Kind::kFunction
           && item.kind != Kind::kValueInfo)
    store.replace(id, to);
  else
    store.replace(id, with_name(content.fields, item.kind == Kind::kInitializer ? 8 : 1, to));
}

}  // namespace

std::vector<std::string_view> reads_of(const Store& store, Id node) {
  std::vector<std::string_view> reads;
  for (const std::string_view input : store.node(node).inputs)
    if (!input.empty()) reads.push_back(input);
  for (const AttributeContent& attribute : store.node(node).attributes)
    for (const Id graph : attribute.graphs) add_reads(store, graph, reads);
  return reads;
}

void rename_value(Store& store, Id graph, std::string_view from, std::string_view to) {
  for (const Id user : store.users(graph, from))
    if (store.item(user).kind == Kind::kNode)
      rename_in_node(store, user, from, to, false);
    else
      rename_item(store, user, to);
  for (Id type = store.type_of(graph, from); type != kNone; type = store.type_of(graph, from))
    rename_item(store, type, to);
  for (Id id = store.producer(graph, from); id != kNone && store.item(id).container == graph;
       id = store.producer(graph, from))
    if (store.item(id).kind == Kind::kNode)
      rename_in_node(store, id, from, to, true);
    else
      rename_item(store, id, to);
}

void take_name(Store& store, Id graph, std::string_view from, std::string_view to) {
  for (Id type = store.type_of(graph, from); type != kNone; type = store.type_of(graph, from))
    store.remove(type);
  rename_value(store, graph, from, to);
}

bool is_output(const Store& store, Id graph, std::string_view name) {
  for (const Id user : store.users(graph, name))
    if (store.item(user).kind == Kind::kOutput && store.item(user).container == graph) return true;
  return false;
}

}  // namespace tenon::edit
