// A store as the bytes of a file again.
#include "edit/store.h"
#include "edit/wire.h"

namespace tenon::edit {
namespace {

bool has_changes(const NodeContent& node, const std::deque<Container>& containers) {
  for (const AttributeContent& attribute : node.attributes)
    for (const Id graph : attribute.graphs)
      if (containers[graph].changes != 0) return true;
  return false;
}

}  // namespace

// The node with its graphs as they are now.
std::string Store::changed_node(Id id) const {
  std::string message;
  Records records(content(id).fields);
  size_t attribute = 0;
  while (const auto record = records.next()) {
    if (record->field != 5 || record->wire != Record::kBytes) {
      message += record->whole;
      continue;
    }
    const AttributeContent& content = node(id).attributes[attribute++];
    std::string bytes;
    size_t graph = 0;
    Records parts(content.bytes);
    while (const auto part = parts.next()) {
      if (part->wire != Record::kBytes || (part->field != 6 && part->field != 11)) {
        bytes += part->whole;
        continue;
      }
      std::string inner;
      write_container(content.graphs[graph++], [&](std::string_view text) { inner += text; });
      append_bytes(bytes, part->field, inner);
    }
    append_bytes(message, 5, bytes);
  }
  return message;
}

std::string Store::record(Id id) const {
  std::string record;
  write_item(id, [&](std::string_view bytes) { record += bytes; });
  return record;
}

std::string Store::message(Id id) const {
  const std::string whole = record(id);
  return std::string(Records(whole).next()->payload);
}

void Store::write_item(Id id, const Sink& sink) const {
  const Item& item = items_[id];
  const Content& content = *item.content;
  if (content.container != kNone && containers_[content.container].changes != 0) {
    sink(prefix_of(item.field, size_of(content.container)));
    write_container(content.container, sink);
  } else if (content.node != nullptr && has_changes(*content.node, containers_)) {
    const std::string message = changed_node(id);
    sink(prefix_of(item.field, message.size()));
    sink(message);
  } else if (content.record.empty()) {
    const std::string raw_prefix = prefix_of(9, content.raw.size());
    sink(prefix_of(item.field, content.fields.size() + raw_prefix.size() + content.raw.size()));
    sink(content.fields);
    sink(raw_prefix);
    sink(content.raw);
  } else {
    sink(content.record);
  }
}

void Store::write_container(Id id, const Sink& sink) const {
  const Container& container = containers_[id];
  if (container.changes == 0) {
    sink(container.stored);
    return;
  }
  for (Id item = container.first; item != kNone; item = items_[item].next) write_item(item, sink);
}

uint64_t Store::size_of(Id container) const {
  uint64_t size = 0;
  write_container(container, [&](std::string_view bytes) { size += bytes.size(); });
  return size;
}

uint64_t Store::size() const {
  return size_of(0);
}

void Store::write(const Sink& sink) const {
  write_container(0, sink);
}

std::string Store::bytes() const {
  std::string bytes;
  bytes.reserve(size());
  write([&](std::string_view text) { bytes += text; });
  return bytes;
}

}  // namespace tenon::edit
