#include "edit/values.h"

#include <onnx_schema.pb.h>
#include <tenon/printable.h>

#include "base/error.h"
#include "edit/attributes.h"
#include "edit/wire.h"

namespace tenon::edit {
namespace {

Extent extent_of(std::string_view dimension) {
  Extent extent;
  Records records(dimension);
  while (const auto record = records.next()) {
    if (record->field == 1 && record->wire == Record::kVarint)
      extent = {static_cast<int64_t>(record->number), ""};
    if (record->field == 2 && record->wire == Record::kBytes)
      extent = {-1, std::string(record->payload)};
  }
  if (extent.value < 0) extent.value = -1;
  return extent;
}

std::string type_message(const TensorType& type) {
  std::string tensor;
  append_number(tensor, 1, static_cast<uint64_t>(type.element));
  if (type.has_shape) {
    std::string shape;
    for (const Extent& extent : type.shape) {
      std::string dimension;
      if (extent.is_known())
        append_number(dimension, 1, static_cast<uint64_t>(extent.value));
      else if (!extent.name.empty())
        append_bytes(dimension, 2, extent.name);
      append_bytes(shape, 1, dimension);
    }
    append_bytes(tensor, 2, shape);
  }
  std::string message;
  append_bytes(message, 1, tensor);
  return message;
}

}  // namespace

std::optional<TensorType> tensor_type(std::string_view info) {
  const std::string_view type = bytes_field(info, 2);
  TensorType found;
  bool is_tensor = false;
  Records kinds(type);
  while (const auto kind = kinds.next()) {
    if (kind->field != 1 || kind->wire != Record::kBytes) continue;
    is_tensor = true;
    Records records(kind->payload);
    while (const auto record = records.next()) {
      if (record->field == 1 && record->wire == Record::kVarint)
        found.element = static_cast<int32_t>(record->number);
      if (record->field != 2 || record->wire != Record::kBytes) continue;
      found.has_shape = true;
      found.shape.clear();
      Records dimensions(record->payload);
      while (const auto dimension = dimensions.next())
        if (dimension->field == 1) found.shape.push_back(extent_of(dimension->payload));
    }
  }
  if (!is_tensor) return std::nullopt;
  return found;
}

std::string value_info(std::string_view name, const TensorType& type) {
  std::string message;
  append_bytes(message, 1, name);
  append_bytes(message, 2, type_message(type));
  return message;
}

std::string with_name(std::string_view message, uint32_t field, std::string_view name) {
  std::string result;
  bool is_there = false;
  Records records(message);
  while (const auto record = records.next())
    if (record->field == field) {
      if (!std::exchange(is_there, true)) append_bytes(result, field, name);
    } else {
      result += record->whole;
    }
  if (!is_there) append_bytes(result, field, name);
  return result;
}

std::string with_type(std::string_view info, const TensorType& type) {
  return with_name(info, 2, type_message(type));
}

std::string text_of(const TensorType& type) {
  std::string text = onnx_type_name(type.element);
  if (!type.has_shape) return text;
  text += '[';
  for (size_t i = 0; i < type.shape.size(); ++i) {
    const Extent& extent = type.shape[i];
    text += i > 0 ? "," : "";
    text += extent.is_known()     ? std::to_string(extent.value)
            : extent.name.empty() ? "?"
                                  : printable(extent.name);
  }
  return text + ']';
}

uint64_t StoredTensor::stored_bytes() const {
  const auto known = data_type_of(type);
  if (!known) return raw ? raw->size() : 0;
  uint64_t count = 1;
  for (const int64_t extent : dims) {
    require(extent >= 0 && (extent == 0 || count <= (uint64_t{1} << 56) / uint64_t(extent)),
            "tensor '{}' has more elements than any memory holds", name);
    count *= static_cast<uint64_t>(extent);
  }
  const int bits = type == 11 || type == 13 ? 64 : type == 4 || type == 5 ? 16 : bits_of(*known);
  return (count * static_cast<uint64_t>(bits) + 7) / 8;
}

StoredTensor stored_tensor(std::string_view fields, std::string_view raw) {
  StoredTensor tensor;
  if (raw.data() != nullptr) tensor.raw = raw;
  Records records(fields);
  while (const auto record = records.next()) {
    if (record->field == 1) append_numbers(tensor.dims, *record);
    if (record->field == 2) tensor.type = static_cast<int32_t>(record->number);
    if (record->field == 8) tensor.name = record->payload;
    if (record->field == 9) tensor.raw = record->payload;
    if (record->field == 14) tensor.is_external = record->number == 1;
    if (record->field == 13 && bytes_field(record->payload, 1) == "location")
      tensor.location = bytes_field(record->payload, 2);
  }
  return tensor;
}

namespace {

Tensor tensor_with(Store& store, std::string_view fields, std::optional<std::string_view> raw) {
  const StoredTensor stored = stored_tensor(fields);
  if (!raw) raw = stored.raw;
  const auto type = data_type_of(stored.type);
  if (raw && raw->size() > 4096 && type && is_exact(stored.type) && *type != DataType::kBOOL
      && reinterpret_cast<uintptr_t>(raw->data()) % 8 == 0
      && raw->size() == stored.stored_bytes()) {
    const Shape shape{std::span<const int64_t>(stored.dims)};
    return {*type, shape, std::shared_ptr<const void>(), raw->data()};
  }
  std::string rest;
  Records records(fields);
  while (const auto record = records.next())
    if (record->field != 9) rest += record->whole;
  onnx::TensorProto proto;
  require(proto.ParseFromString(rest), "tensor '{}' is damaged", stored.name);
  if (!raw) return make_tensor(proto, store.source());
  return make_tensor(proto, store.source(), std::as_bytes(std::span(*raw)));
}

}  // namespace

Tensor read_tensor(Store& store, const Content& content) {
  if (content.record.empty()) return tensor_with(store, content.fields, content.raw);
  return tensor_with(store, content.fields, std::nullopt);
}

Tensor read_tensor(Store& store, std::string_view tensor_proto) {
  return tensor_with(store, tensor_proto, std::nullopt);
}

std::string tensor_fields(std::string_view name, int32_t type, const std::vector<int64_t>& dims) {
  std::string fields;
  for (const int64_t extent : dims) append_number(fields, 1, static_cast<uint64_t>(extent));
  append_number(fields, 2, static_cast<uint64_t>(type));
  append_bytes(fields, 8, name);
  return fields;
}

int32_t onnx_type_of(DataType type) {
  switch (type) {
    case DataType::kFLOAT:
      return kFloat32;
    case DataType::kHALF:
      return kFloat16;
    case DataType::kINT8:
      return 3;
    case DataType::kINT32:
      return kInt32;
    case DataType::kBOOL:
      return kBool;
    case DataType::kUINT8:
      return 2;
    case DataType::kFP8:
      return 17;
    case DataType::kBF16:
      return 16;
    case DataType::kINT64:
      return kInt64;
    case DataType::kINT4:
      return 22;
    case DataType::kFP4:
      return 23;
    case DataType::kE8M0:
      return 24;
  }
  fail(ErrorCode::kINTERNAL_ERROR, "no element type of ONNX is {}", name_of(type));
}

namespace {

std::string_view kept_fields(Store& store, std::string_view name, const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  return store.keep(tensor_fields(name, onnx_type_of(tensor.type()), {shape.begin(), shape.end()}));
}

Id version_item(const Store& store) {
  for (const Id id : store.items(0, Kind::kOther))
    if (store.item(id).field == 1) return id;
  return kNone;
}

}  // namespace

int64_t ir_version(const Store& store) {
  const Id id = version_item(store);
  return id == kNone ? 0 : number_field(store.content(id).record, 1);
}

void raise_ir_version(Store& store, int64_t version) {
  const Id id = version_item(store);
  if (id == kNone || ir_version(store) >= version) return;
  const Id next = store.item(id).next;
  store.remove(id);
  std::string record;
  append_number(record, 1, static_cast<uint64_t>(version));
  store.insert_record(0, Kind::kOther, store.keep(std::move(record)), next);
}

void allow_constants(Store& store) {
  raise_ir_version(store, 4);
}

Id insert_tensor(Store& store, Id graph, std::string_view name, const Tensor& tensor) {
  allow_constants(store);
  return store.insert_tensor(graph, kept_fields(store, name, tensor), store.keep_elements(tensor));
}

Id insert_tensor(Store& store, Id graph, std::string_view name, std::string_view tensor_proto) {
  allow_constants(store);
  std::string fields;
  std::optional<std::string_view> raw;
  Records records(tensor_proto);
  while (const auto record = records.next())
    if (record->field == 9 && record->wire == Record::kBytes)
      raw = record->payload;
    else
      fields += record->whole;
  fields = with_name(fields, 8, name);
  if (!raw) return store.insert(graph, Kind::kInitializer, 5, fields);
  return store.insert_tensor(graph, store.keep(std::move(fields)), *raw);
}

void replace_tensor(Store& store, Id initializer, std::string_view name, const Tensor& tensor) {
  store.replace_tensor(initializer, kept_fields(store, name, tensor), store.keep_elements(tensor));
}

Tensor integers_tensor(const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>(DataType::kINT64, Shape{static_cast<int64_t>(values.size())}, values);
}

namespace {

// The TensorProto of a Constant node; none for other ways to say a constant.
std::string_view tensor_of_constant(const NodeContent& node) {
  const AttributeContent* value = node.find("value");
  return value == nullptr ? std::string_view() : bytes_field(value->bytes, 5);
}

std::optional<Tensor> constant_of_node(Store& store, const NodeContent& node) {
  if (const std::string_view tensor = tensor_of_constant(node); !tensor.empty())
    return read_tensor(store, tensor);
  if (node.find("value_float") != nullptr) {
    const float value = float_attribute(node, "value_float", 0);
    return Tensor::of<float>(DataType::kFLOAT, Shape{}, std::span(&value, 1));
  }
  if (node.find("value_int") != nullptr) {
    const int64_t value = integer_attribute(node, "value_int", 0);
    return Tensor::of<int64_t>(DataType::kINT64, Shape{}, std::span(&value, 1));
  }
  if (const auto values = integers_attribute(node, "value_ints")) return integers_tensor(*values);
  if (const AttributeContent* floats = node.find("value_floats"))
    if (const auto value = value_of(store, *floats);
        const auto* values = std::get_if<std::vector<float>>(&value))
      return Tensor::of<float>(DataType::kFLOAT, Shape{static_cast<int64_t>(values->size())},
                               std::span(*values));
  return std::nullopt;
}

}  // namespace

bool is_constant(const Store& store, Id graph, std::string_view name) {
  const Id id = store.producer(graph, name);
  if (id == kNone) return false;
  const Item& item = store.item(id);
  if (item.kind == Kind::kInitializer) {
    // Before IR version 4 every initializer is an input, too; overriding it is what only later ones
    // mean by that.
    const Id type = store.type_of(item.container, name);
    const bool is_input = type != kNone && store.item(type).kind == Kind::kInput;
    if (is_input && number_field(store.file(), 1) >= 4) return false;
    return is_exact(number_field(store.content(id).fields, 2));
  }
  if (item.kind != Kind::kNode) return false;
  const NodeContent& node = store.node(id);
  if (node.op_type != "Constant" || !is_standard_node(node) || has_attribute_of_function(node))
    return false;
  const std::string_view tensor = tensor_of_constant(node);
  return tensor.empty()
             ? node.find("value_float") != nullptr || node.find("value_int") != nullptr
                   || node.find("value_ints") != nullptr || node.find("value_floats") != nullptr
             : is_exact(static_cast<int32_t>(number_field(tensor, 2)));
}

std::optional<Tensor> constant_of(Store& store, Id graph, std::string_view name) {
  if (!is_constant(store, graph, name)) return std::nullopt;
  const Id id = store.producer(graph, name);
  if (store.item(id).kind == Kind::kInitializer) return read_tensor(store, store.content(id));
  return constant_of_node(store, store.node(id));
}

namespace {

std::string_view plain_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

}  // namespace

int64_t opset_of(const Store& store, Id container, std::string_view domain) {
  for (const Id id : store.items(container, Kind::kOpset))
    if (plain_domain(store.content(id).name) == plain_domain(domain))
      return number_field(store.content(id).fields, 2);
  return 0;
}

void set_opset(Store& store, Id container, int64_t version, std::string_view domain) {
  const bool is_function = store.container(container).kind == Container::Kind::kFunction;
  std::string message;
  append_bytes(message, 1, domain);
  append_number(message, 2, static_cast<uint64_t>(version));
  for (const Id id : store.items(container, Kind::kOpset))
    if (plain_domain(store.content(id).name) == plain_domain(domain)) {
      store.replace(id, message);
      return;
    }
  store.insert(container, Kind::kOpset, is_function ? 9 : 8, message);
}

std::string_view function_domain(const Store& store, Id function) {
  return bytes_field(store.content(store.container(function).owner).fields, 10);
}

bool is_standard_node(const NodeContent& node) {
  return plain_domain(node.domain).empty();
}

NodeDraft standard_node(Store& store, const std::string& op_type, std::string_view name,
                        const std::vector<std::string_view>& inputs,
                        const std::vector<std::string_view>& outputs) {
  NodeDraft draft;
  draft.name = name;
  draft.content.op_type = store.keep(op_type);
  draft.content.inputs = inputs;
  draft.content.outputs = outputs;
  return draft;
}

std::string shown_name(const Store& store, Id id) {
  const std::vector<std::string_view>& outputs = store.node(id).outputs;
  const std::string_view name = store.content(id).name;
  return std::string(name.empty() && !outputs.empty() ? outputs[0] : name);
}

std::string description(const Store& store, Id id) {
  return fmt::format("node '{}' ({})", printable(shown_name(store, id)),
                     printable(std::string(store.node(id).op_type)));
}

}  // namespace tenon::edit
