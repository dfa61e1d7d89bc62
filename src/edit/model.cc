// The public class over the store.
#include <tenon/onnx.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "edit/attributes.h"
#include "edit/store.h"
#include "edit/undone.h"
#include "edit/values.h"
#include "edit/wire.h"

namespace tenon::edit {
namespace {

std::vector<std::string> texts(const std::vector<std::string_view>& views) {
  return {views.begin(), views.end()};
}

std::vector<std::string_view> kept(Store& store, const std::vector<std::string>& texts) {
  std::vector<std::string_view> views;
  for (const std::string& text : texts) views.push_back(store.keep(text));
  return views;
}

void require_node(const Store& store, NodeId node) {
  require(node.number < store.item_count() && store.item(node.number).kind == Kind::kNode,
          "there is no node with the number {}", node.number);
}

void require_graph(const Store& store, GraphId graph) {
  require(graph.number > 0 && graph.number < store.container_count(),
          "there is no graph with the number {}", graph.number);
}

NodeDraft draft_of(Store& store, const Node& node) {
  require(!node.op_type.empty(), "the node '{}' has no op_type", node.name);
  NodeDraft draft;
  draft.name = store.keep(node.name);
  draft.content.op_type = store.keep(node.op_type);
  draft.content.domain = store.keep(node.domain);
  draft.content.inputs = kept(store, node.inputs);
  draft.content.outputs = kept(store, node.outputs);
  for (const auto& [name, value] : node.attributes) {
    require(draft.content.find(name) == nullptr, "the node '{}' has two attributes '{}'", node.name,
            name);
    draft.content.attributes.push_back(attribute_of(store, name, value));
  }
  return draft;
}

std::vector<Value> values_of(const Store& store, Id graph, Kind kind) {
  std::vector<Value> values;
  for (const Id id : store.items(graph, kind)) {
    const Content& content = store.content(id);
    const bool has_type = store.container(graph).kind == Container::Kind::kGraph;
    values.push_back(
        {std::string(content.name), has_type ? tensor_type(content.fields) : std::nullopt});
  }
  return values;
}

void set_values(Store& store, Kind kind, uint32_t field, const std::vector<Value>& values) {
  std::map<std::string, std::string> before;
  for (const Id id : store.items(store.graph(), kind)) {
    before.emplace(store.content(id).name, store.content(id).fields);
    store.remove(id);
  }
  for (const Value& value : values) {
    require(!value.name.empty(), "an input or output of the model has no name");
    const auto old = before.find(value.name);
    std::string message;
    if (old != before.end())
      message = value.type ? with_type(old->second, *value.type) : old->second;
    else if (value.type)
      message = value_info(value.name, *value.type);
    else
      append_bytes(message, 1, value.name);
    store.insert(store.graph(), kind, field, message);
  }
}

}  // namespace

Model::Model(std::unique_ptr<Store> store) : store_(std::move(store)) {}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

Model Model::load(const std::string& path) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  return Model(std::make_unique<Store>(
      file, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), path));
}

Model Model::parse(std::string bytes, const std::string& path) {
  const auto owner = std::make_shared<std::string>(std::move(bytes));
  return Model(std::make_unique<Store>(owner, *owner, path));
}

Model Model::make(int64_t opset) {
  // The opsets with which versions came: ONNX's docs/Versioning.md.
  static constexpr std::array<std::pair<int64_t, uint64_t>, 6> kIrVersions = {
      {{19, 9}, {21, 10}, {23, 11}, {24, 12}, {25, 13}, {28, 14}}};
  uint64_t ir_version = 8;
  for (const auto& [since, version] : kIrVersions)
    if (opset >= since) ir_version = version;
  std::string graph, import, bytes;
  append_bytes(graph, 2, "graph");
  append_number(import, 2, static_cast<uint64_t>(opset));
  append_number(bytes, 1, ir_version);
  append_bytes(bytes, 7, graph);
  append_bytes(bytes, 8, import);
  return parse(std::move(bytes));
}

size_t Model::steps() const {
  return store_->journal().size();
}

void Model::undo_to(size_t steps) {
  require(steps <= store_->journal().size(), "the model has made {} steps, not {}",
          store_->journal().size(), steps);
  store_->undo_to(steps);
}

GraphId Model::graph() const {
  return {store_->graph()};
}

std::vector<GraphId> Model::graphs() const {
  std::vector<GraphId> found;
  for (const Id id : store_->containers()) found.push_back({id});
  return found;
}

std::string Model::name_of(GraphId graph) const {
  require_graph(*store_, graph);
  return store_->place(graph.number);
}

std::vector<NodeId> Model::nodes(GraphId graph) const {
  require_graph(*store_, graph);
  std::vector<NodeId> found;
  for (const Id id : store_->items(graph.number, Kind::kNode)) found.push_back({id});
  return found;
}

bool Model::is_there(NodeId node) const {
  return node.number < store_->item_count() && store_->item(node.number).is_indexed;
}

Node Model::node(NodeId id) const {
  require_node(*store_, id);
  const NodeContent& content = store_->node(id.number);
  Node node{std::string(store_->content(id.number).name),
            std::string(content.op_type),
            std::string(content.domain),
            texts(content.inputs),
            texts(content.outputs),
            {}};
  for (const AttributeContent& attribute : content.attributes)
    node.attributes.emplace_back(attribute.name, value_of(*store_, attribute));
  return node;
}

std::optional<NodeId> Model::find_node(const std::string& name) const {
  for (const Id id : store_->items(store_->graph(), Kind::kNode))
    if (store_->content(id).name == name) return NodeId{id};
  return producer(graph(), name);
}

std::optional<NodeId> Model::producer(GraphId graph, const std::string& tensor) const {
  require_graph(*store_, graph);
  const Id id = store_->producer(graph.number, tensor);
  if (id == kNone || store_->item(id).kind != Kind::kNode) return std::nullopt;
  return NodeId{id};
}

std::vector<NodeId> Model::users(GraphId graph, const std::string& tensor) const {
  require_graph(*store_, graph);
  std::vector<NodeId> found;
  for (const Id id : store_->users(graph.number, tensor))
    if (store_->item(id).kind == Kind::kNode) found.push_back({id});
  return found;
}

std::vector<Value> Model::inputs(GraphId graph) const {
  require_graph(*store_, graph);
  return values_of(*store_, graph.number, Kind::kInput);
}

std::vector<Value> Model::outputs(GraphId graph) const {
  require_graph(*store_, graph);
  return values_of(*store_, graph.number, Kind::kOutput);
}

std::vector<std::string> Model::initializers(GraphId graph) const {
  require_graph(*store_, graph);
  std::vector<std::string> names;
  for (const Id id : store_->items(graph.number, Kind::kInitializer))
    names.emplace_back(store_->content(id).name);
  return names;
}

int64_t Model::opset(const std::string& domain) const {
  return opset_of(*store_, 0, domain);
}

std::map<std::string, std::string> Model::metadata() const {
  std::map<std::string, std::string> found;
  for (const Id id : store_->items(0, Kind::kMetadata))
    found.emplace(store_->content(id).name, bytes_field(store_->content(id).fields, 2));
  return found;
}

NodeId Model::insert_node(GraphId graph, const Node& node, std::optional<NodeId> before) {
  require_graph(*store_, graph);
  if (before) require_node(*store_, *before);
  for (const std::string& output : node.outputs) {
    const Id other = output.empty() ? kNone : store_->producer(graph.number, output);
    require(other == kNone, "a tensor '{}' is there already", output);
  }
  return {
      store_->insert_node(graph.number, draft_of(*store_, node), before ? before->number : kNone)};
}

void Model::replace_node(NodeId id, const Node& with) {
  require_node(*store_, id);
  NodeDraft draft = draft_of(*store_, with);
  draft.content.overload = store_->node(id.number).overload;
  draft.content.others = store_->node(id.number).others;
  // Attributes that stay the same keep their bytes, and the changes inside of their graphs.
  for (AttributeContent& attribute : draft.content.attributes)
    if (const auto* before = store_->node(id.number).find(attribute.name);
        before != nullptr && before->bytes == attribute.bytes)
      attribute = *before;
  store_->replace_node(id.number, std::move(draft));
}

void Model::remove_node(NodeId id, bool relink) {
  require_node(*store_, id);
  const Item item = store_->item(id.number);
  const NodeContent& node = store_->node(id.number);
  undone_unless(*this, [&] {
    if (relink && !node.inputs.empty() && !node.outputs.empty())
      replace_uses({item.container}, std::string(node.outputs[0]), std::string(node.inputs[0]));
    store_->remove(id.number);
    return 0;
  });
}

void Model::replace_uses(GraphId graph, const std::string& from, const std::string& to) {
  require_graph(*store_, graph);
  require(to != from, "a tensor cannot stand for itself: '{}'", from);
  undone_unless(*this, [&] {
    store_->replace_uses(graph.number, from, store_->keep(to));
    for (const Id user : store_->users(graph.number, from)) {
      const Item item = store_->item(user);
      if (item.kind != Kind::kOutput) continue;
      // An output keeps its name: what gives it now is called so.
      const Id producer = store_->producer(item.container, to);
      require(producer != kNone && store_->item(producer).kind == Kind::kNode
                  && store_->item(producer).container == item.container,
              "output '{}' cannot be given by '{}', which no node of its graph computes; insert an "
              "Identity",
              from, to);
      const Id old = store_->producer(item.container, from);
      if (old != kNone && store_->item(old).kind == Kind::kNode) {
        NodeDraft unnamed = store_->draft(old);
        for (std::string_view& output : unnamed.content.outputs)
          if (output == from) output = store_->new_name(from + "_replaced");
        store_->replace_node(old, std::move(unnamed));
      }
      NodeDraft named = store_->draft(producer);
      for (std::string_view& output : named.content.outputs)
        if (output == to) output = store_->keep(from);
      store_->replace_node(producer, std::move(named));
      store_->replace_uses(item.container, to, store_->keep(from));
    }
    return 0;
  });
}

std::optional<TensorValue> Model::constant(const std::string& name) const {
  Store& store = *store_;
  const Id id = store.producer(store.graph(), name);
  if (id == kNone) return std::nullopt;
  if (store.item(id).kind == Kind::kInitializer)
    return tensor_value(
        store, store.content(id).fields,
        store.content(id).record.empty() ? store.content(id).raw : std::string_view());
  if (store.item(id).kind != Kind::kNode || store.node(id).op_type != "Constant")
    return std::nullopt;
  if (const AttributeContent* value = store.node(id).find("value"))
    return tensor_value(store, bytes_field(value->bytes, 5), {});
  const auto tensor = constant_of(store, store.graph(), name);
  if (!tensor) return std::nullopt;
  return TensorValue{onnx_type_of(tensor->type()),
                     {tensor->shape().begin(), tensor->shape().end()},
                     {tensor->data<char>(), tensor->bytes()}};
}

void Model::set_constant(const std::string& name, const TensorValue& value) {
  Store& store = *store_;
  check_tensor(name, value);
  const Id id = store.producer(store.graph(), name);
  if (id != kNone && store.item(id).kind == Kind::kNode) {
    require(store.node(id).op_type == "Constant", "'{}' is no constant, but an output of {}", name,
            description(store, id));
    NodeDraft draft = store.draft(id);
    for (const char* other : {"value_float", "value_floats", "value_int", "value_ints",
                              "value_string", "value_strings", "sparse_value"})
      draft.erase(other);
    draft.set(attribute_of(store, "value", value));
    store.replace_node(id, std::move(draft));
    return;
  }
  const std::string_view fields = store.keep(tensor_fields(name, value.type, value.shape));
  const std::string_view raw = store.keep(value.bytes);
  if (id != kNone && store.item(id).kind == Kind::kInitializer)
    store.replace_tensor(id, fields, raw);
  else
    require(id == kNone, "'{}' is an input of the model, not a constant", name);
  if (id != kNone) return;
  allow_constants(store);
  store.insert_tensor(store.graph(), fields, raw);
}

void Model::set_inputs(const std::vector<Value>& inputs) {
  undone_unless(*this, [&] {
    set_values(*store_, Kind::kInput, 11, inputs);
    return 0;
  });
}

void Model::set_outputs(const std::vector<Value>& outputs) {
  undone_unless(*this, [&] {
    set_values(*store_, Kind::kOutput, 12, outputs);
    return 0;
  });
}

void Model::set_opset(int64_t version, const std::string& domain) {
  edit::set_opset(*store_, 0, version, domain);
}

void Model::set_metadata(const std::string& key, const std::string& value) {
  std::string message;
  append_bytes(message, 1, key);
  append_bytes(message, 2, value);
  for (const Id id : store_->items(0, Kind::kMetadata))
    if (store_->content(id).name == key) {
      store_->replace(id, message);
      return;
    }
  store_->insert(0, Kind::kMetadata, 14, message);
}

}  // namespace tenon::edit
