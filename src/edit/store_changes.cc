// What changes a store, step by step, and takes the steps back.
#include "base/error.h"
#include "edit/store.h"
#include "edit/wire.h"

namespace tenon::edit {

void Store::count_change(Id container, int64_t by) {
  for (; container != kNone; container = containers_[container].parent)
    containers_[container].changes += by;
}

// Between the neighbours that the item knows.
void Store::link(Id id) {
  Item& item = items_[id];
  Container& container = containers_[item.container];
  (item.previous == kNone ? container.first : items_[item.previous].next) = id;
  (item.next == kNone ? container.last : items_[item.next].previous) = id;
  item.is_linked = true;
  Id& last = container.last_of[static_cast<size_t>(item.kind)];
  const bool was_last = last == kNone || last == item.previous;
  Id behind = was_last ? kNone : item.next;
  while (behind != kNone && items_[behind].kind != item.kind) behind = items_[behind].next;
  if (behind == kNone) last = id;
  const Id owner = container.owner;
  index(id, owner == kNone || items_[owner].is_indexed);
}

void Store::unlink(Id id) {
  Item& item = items_[id];
  Container& container = containers_[item.container];
  index(id, false);
  item.is_linked = false;
  Id& last = container.last_of[static_cast<size_t>(item.kind)];
  if (last == id) {
    do last = items_[last].previous;
    while (last != kNone && items_[last].kind != item.kind);
  }
  (item.previous == kNone ? container.first : items_[item.previous].next) = item.next;
  (item.next == kNone ? container.last : items_[item.next].previous) = item.previous;
}

Id Store::insert_content(Id id, const Content* content, Id before) {
  Item& item = items_[id];
  item.content = content;
  const Container& container = containers_[item.container];
  const Id last = container.last_of[static_cast<size_t>(item.kind)];
  if (before != kNone) {
    require(items_[before].is_linked && items_[before].container == item.container,
            "what to insert before is not part of the graph");
    item.next = before;
    item.previous = items_[before].previous;
  } else if (last != kNone) {
    item.previous = last;
    item.next = items_[last].next;
  } else {  // where the order of fields has it
    item.next = container.first;
    while (item.next != kNone && items_[item.next].field <= item.field)
      item.next = items_[item.next].next;
    item.previous = item.next == kNone ? container.last : items_[item.next].previous;
  }
  link(id);
  journal_.push_back({Change::Kind::kInsert, id, nullptr});
  count_change(item.container, 1);
  return id;
}

Id Store::insert(Id container, Kind kind, uint32_t field, std::string_view message, Id before) {
  std::string record;
  append_bytes(record, field, message);
  return insert_record(container, kind, keep(std::move(record)), before);
}

Id Store::insert_record(Id container, Kind kind, std::string_view record, Id before) {
  Records records(record);
  const auto parsed = records.next();
  require(parsed.has_value() && parsed->whole.size() == record.size(),
          "what is to be inserted is not one field of a model");
  const Id id = add_item(container, kind, parsed->field);
  return insert_content(id, parse(id, parsed->whole, parsed->payload), before);
}

Id Store::insert_tensor(Id container, std::string_view fields, std::string_view raw) {
  const Id id = add_item(container, Kind::kInitializer, 5);
  Content& content = contents_.emplace_back();
  content.fields = fields;
  content.raw = raw;
  content.name = bytes_field(fields, 8);
  return insert_content(id, &content, kNone);
}

void Store::replace_tensor(Id id, std::string_view fields, std::string_view raw) {
  Content& content = contents_.emplace_back();
  content.fields = fields;
  content.raw = raw;
  content.name = bytes_field(fields, 8);
  Item& item = items_[id];
  const Content* before = item.content;
  const bool was_there = item.is_indexed;
  index(id, false);
  item.content = &content;
  index(id, was_there);
  journal_.push_back({Change::Kind::kReplace, id, before});
  count_change(item.container, 1);
}

const Content* Store::content_of(Id id, NodeDraft draft) {
  NodeContent& node = draft.content;
  std::string message;
  for (const std::string_view input : node.inputs) append_bytes(message, 1, input);
  for (const std::string_view output : node.outputs) append_bytes(message, 2, output);
  if (!draft.name.empty()) append_bytes(message, 3, draft.name);
  append_bytes(message, 4, node.op_type);
  for (const AttributeContent& attribute : node.attributes)
    append_bytes(message, 5, attribute.bytes);
  if (!node.domain.empty()) append_bytes(message, 7, node.domain);
  if (!node.overload.empty()) append_bytes(message, 8, node.overload);
  message += node.others;
  const uint32_t field = items_[id].field;
  const std::string prefix = prefix_of(field, message.size());
  Content& content = contents_.emplace_back();
  content.record = keep(prefix + message);
  content.fields = content.record.substr(prefix.size());
  content.name = draft.name;
  for (AttributeContent& attribute : node.attributes) {
    if (!attribute.graphs.empty()) continue;
    Records parts(attribute.bytes);
    while (const auto part = parts.next())
      if (part->wire == Record::kBytes && (part->field == 6 || part->field == 11))
        attribute.graphs.push_back(
            add_container(Container::Kind::kGraph, items_[id].container, id, part->payload));
  }
  content.node = std::make_unique<NodeContent>(std::move(node));
  return &content;
}

Id Store::insert_node(Id container, NodeDraft draft, Id before) {
  const uint32_t field = containers_[container].kind == Container::Kind::kFunction ? 7 : 1;
  const Id id = add_item(container, Kind::kNode, field);
  return insert_content(id, content_of(id, std::move(draft)), before);
}

NodeDraft Store::draft(Id id) const {
  return {content(id).name, node(id)};
}

void Store::replace_node(Id id, NodeDraft draft) {
  const Content* content = content_of(id, std::move(draft));
  Item& item = items_[id];
  const Content* before = item.content;
  const bool was_there = item.is_indexed;
  index(id, false);
  item.content = content;
  index(id, was_there);
  journal_.push_back({Change::Kind::kReplace, id, before});
  count_change(item.container, 1);
}

void Store::replace(Id id, std::string_view message) {
  Item& item = items_[id];
  std::string record;
  append_bytes(record, item.field, message);
  const std::string_view kept = keep(std::move(record));
  const Content* content = parse(id, kept, kept.substr(kept.size() - message.size()));
  const Content* before = item.content;
  const bool was_there = item.is_indexed;
  index(id, false);
  item.content = content;
  index(id, was_there);
  journal_.push_back({Change::Kind::kReplace, id, before});
  count_change(item.container, 1);
}

void Store::remove(Id id) {
  if (!items_[id].is_linked) return;
  unlink(id);
  journal_.push_back({Change::Kind::kRemove, id, nullptr});
  count_change(items_[id].container, 1);
}

void Store::undo_to(size_t length) {
  while (journal_.size() > length) {
    const Change change = journal_.back();
    journal_.pop_back();
    Item& item = items_[change.item];
    count_change(item.container, -1);
    if (change.kind == Change::Kind::kInsert) {
      unlink(change.item);
    } else if (change.kind == Change::Kind::kRemove) {
      link(change.item);
    } else {
      const bool was_there = item.is_indexed;
      index(change.item, false);
      item.content = change.before;
      index(change.item, was_there);
    }
  }
}

void Store::replace_uses(Id container, std::string_view from, std::string_view to) {
  for (const Id user : users(container, from)) {
    if (items_[user].kind != Kind::kNode) continue;
    NodeDraft changed = draft(user);
    for (std::string_view& input : changed.content.inputs)
      if (input == from) input = to;
    replace_node(user, std::move(changed));
  }
}

}  // namespace tenon::edit
