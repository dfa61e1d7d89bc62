#include "edit/store.h"

#include <algorithm>

#include "base/error.h"
#include "edit/wire.h"

namespace tenon::edit {
namespace {

// What a field of the model, of a graph and of a function is.
Kind kind_of(Container::Kind container, uint32_t field) {
  struct Row {
    uint32_t model, graph, function;
    Kind kind;
  };
  static constexpr Row kRows[] = {
      {0, 1, 7, Kind::kNode},      {0, 5, 0, Kind::kInitializer}, {0, 11, 4, Kind::kInput},
      {0, 12, 5, Kind::kOutput},   {0, 13, 12, Kind::kValueInfo}, {7, 0, 0, Kind::kGraph},
      {25, 0, 0, Kind::kFunction}, {8, 0, 9, Kind::kOpset},       {14, 16, 14, Kind::kMetadata}};
  for (const Row& row : kRows)
    if (field
        == (container == Container::Kind::kModel   ? row.model
            : container == Container::Kind::kGraph ? row.graph
                                                   : row.function))
      return row.kind;
  return Kind::kOther;
}

// A level of graphs in graphs, also when reading one fails.
class Deeper {
 public:
  explicit Deeper(int& depth) : depth_(depth) { ++depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
  ~Deeper() { --depth_; }

 private:
  int& depth_;
};

}  // namespace

const AttributeContent* NodeContent::find(std::string_view attribute) const {
  for (const AttributeContent& each : attributes)
    if (each.name == attribute) return &each;
  return nullptr;
}

void NodeDraft::set(AttributeContent attribute) {
  for (AttributeContent& each : content.attributes)
    if (each.name == attribute.name) {
      each = std::move(attribute);
      return;
    }
  content.attributes.push_back(std::move(attribute));
}

void NodeDraft::erase(std::string_view attribute) {
  std::erase_if(content.attributes, [&](const auto& each) { return each.name == attribute; });
}

Store::Store(std::shared_ptr<const void> owner, std::string_view bytes, std::string path)
    : path_(std::move(path)), source_{path_, Log(), {}} {
  keep(std::move(owner));
  const std::string file = path_.empty() ? "the ONNX model" : fmt::format("'{}'", path_);
  require(!bytes.empty(), ErrorClass::kModelFile, "{} is empty", file);
  try {
    add_container(Container::Kind::kModel, kNone, kNone, bytes);
  } catch (const Error& e) {
    throw Error(e.code(), ErrorClass::kModelFile,
                fmt::format("{} is not an ONNX model, or is damaged: {}", file, e.what()));
  }
  const auto graphs = items(0, Kind::kGraph);
  require(graphs.size() == 1, ErrorClass::kModelFile, "{} holds {} graphs; an ONNX model has one",
          file, graphs.size());
  graph_ = content(graphs[0]).container;
  index_container(0, true);
}

Id Store::add_container(Container::Kind kind, Id parent, Id owner, std::string_view bytes) {
  // As deep as protocol buffers nest, a graph, node and attribute being a level each.
  require(depth_ < 33, "graphs nest deeper than {} levels", depth_);
  const Deeper deeper(depth_);
  const Id id = static_cast<Id>(containers_.size());
  Container& container = containers_.emplace_back();
  container.kind = kind;
  container.parent = parent;
  container.owner = owner;
  container.stored = bytes;
  container.last_of.fill(kNone);
  Records records(bytes);
  while (const auto record = records.next()) {
    const Kind item_kind =
        record->wire == Record::kBytes ? kind_of(kind, record->field) : Kind::kOther;
    const Id item = add_item(id, item_kind, record->field);
    items_[item].content = parse(item, record->whole, record->payload);
    items_[item].previous = container.last;
    (container.last == kNone ? container.first : items_[container.last].next) = item;
    container.last = container.last_of[static_cast<size_t>(item_kind)] = item;
    items_[item].is_linked = true;
  }
  return id;
}

Id Store::add_item(Id container, Kind kind, uint32_t field) {
  require(items_.size() < kNone, "the model has more than {} parts", items_.size());
  Item& item = items_.emplace_back();
  item.container = container;
  item.kind = kind;
  item.field = field;
  return static_cast<Id>(items_.size() - 1);
}

const Content* Store::parse(Id id, std::string_view record, std::string_view message) {
  const Item& item = items_[id];
  Content& content = contents_.emplace_back();
  content.record = record;
  content.fields = message;
  const bool is_function = containers_[item.container].kind == Container::Kind::kFunction;
  switch (item.kind) {
    case Kind::kNode:
      parse_node(id, content);
      break;
    case Kind::kInitializer:
      content.name = bytes_field(message, 8);
      break;
    case Kind::kInput:
    case Kind::kOutput:
      content.name = is_function ? message : bytes_field(message, 1);
      break;
    case Kind::kGraph:
    case Kind::kFunction:
      content.container = add_container(
          item.kind == Kind::kGraph ? Container::Kind::kGraph : Container::Kind::kFunction,
          item.container, id, message);
      if (item.kind == Kind::kFunction) content.name = bytes_field(message, 1);
      break;
    case Kind::kValueInfo:
    case Kind::kOpset:
    case Kind::kMetadata:
      content.name = bytes_field(message, 1);
      break;
    case Kind::kOther:
      // A sparse initializer is called as its values are.
      if (containers_[item.container].kind == Container::Kind::kGraph && item.field == 15)
        content.name = bytes_field(bytes_field(message, 1), 8);
      break;
  }
  return &content;
}

void Store::parse_node(Id id, Content& content) {
  content.node = std::make_unique<NodeContent>();
  NodeContent& node = *content.node;
  std::string others;
  size_t other_count = 0;
  Records records(content.fields);
  while (const auto record = records.next()) {
    const bool is_bytes = record->wire == Record::kBytes;
    switch (is_bytes ? record->field : 0) {
      case 1:
        node.inputs.push_back(record->payload);
        break;
      case 2:
        node.outputs.push_back(record->payload);
        break;
      case 3:
        content.name = record->payload;
        break;
      case 4:
        node.op_type = record->payload;
        break;
      case 5:
        node.attributes.push_back({bytes_field(record->payload, 1), record->payload, {}});
        break;
      case 7:
        node.domain = record->payload;
        break;
      case 8:
        node.overload = record->payload;
        break;
      default:
        if (other_count++ == 0) node.others = record->whole;
        others += record->whole;
    }
  }
  if (other_count > 1) node.others = keep(std::move(others));
  for (AttributeContent& attribute : node.attributes) {
    Records parts(attribute.bytes);
    while (const auto part = parts.next())
      if (part->wire == Record::kBytes && (part->field == 6 || part->field == 11))
        attribute.graphs.push_back(
            add_container(Container::Kind::kGraph, items_[id].container, id, part->payload));
  }
}

std::vector<Id> Store::items(Id container, Kind kind) const {
  std::vector<Id> found;
  for (Id id = containers_[container].first; id != kNone; id = items_[id].next)
    if (items_[id].kind == kind) found.push_back(id);
  return found;
}

std::vector<Id> Store::containers() const {
  std::vector<Id> found;
  for (Id id = 1; id < containers_.size(); ++id) {
    const Id owner = containers_[id].owner;
    if (!items_[owner].is_indexed) continue;
    const Content& holds = content(owner);
    bool is_held = holds.container == id;
    if (holds.node != nullptr)
      for (const AttributeContent& attribute : holds.node->attributes)
        is_held = is_held || std::ranges::find(attribute.graphs, id) != attribute.graphs.end();
    if (is_held) found.push_back(id);
  }
  return found;
}

std::vector<Id> Store::functions() const {
  std::vector<Id> found;
  for (const Id id : items(0, Kind::kFunction)) found.push_back(content(id).container);
  return found;
}

Kind Store::kind_at(Id container, uint32_t field) const {
  return kind_of(containers_[container].kind, field);
}

std::string Store::place(Id container) const {
  if (container == graph_) return "graph";
  const Id owner = containers_[container].owner;
  if (owner == kNone) return "model";
  const Content& holder = content(owner);
  if (holder.node == nullptr) return fmt::format("function {}", holder.name);
  const auto& outputs = holder.node->outputs;
  std::string text =
      fmt::format("{}/{}", place(items_[owner].container),
                  outputs.empty() ? std::string_view("node without outputs") : outputs[0]);
  for (const AttributeContent& attribute : holder.node->attributes)
    for (size_t i = 0; i < attribute.graphs.size(); ++i)
      if (attribute.graphs[i] == container) {
        text += fmt::format(".{}", attribute.name);
        if (attribute.graphs.size() > 1) text += fmt::format("[{}]", i);
      }
  return text;
}

std::string_view Store::keep_elements(const Tensor& tensor) {
  constexpr size_t kInMemory = 256u << 20, kLarge = 1u << 20;
  const std::span bytes(static_cast<const std::byte*>(tensor.data()), tensor.bytes());
  const auto text = [](std::span<const std::byte> kept) {
    return std::string_view(reinterpret_cast<const char*>(kept.data()), kept.size());
  };
  if (bytes.size() >= kLarge && elements_ + bytes.size() > kInMemory)
    if (const auto file = MappedFile::temporary(bytes)) {
      keep(file);
      return text(file->bytes());
    }
  elements_ += bytes.size();
  keep(std::make_shared<Tensor>(tensor));
  return text(bytes);
}

std::string_view Store::keep(std::string text) {
  return texts_.emplace_back(std::move(text));
}

}  // namespace tenon::edit
