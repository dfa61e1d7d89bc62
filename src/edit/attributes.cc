#include "edit/attributes.h"

#include <fmt/ranges.h>
#include <onnx_schema.pb.h>
#include <tenon/printable.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "edit/values.h"
#include "edit/wire.h"

namespace tenon::edit {
namespace {

// Numbers of AttributeProto.AttributeType, and the fields of their values.
enum : uint64_t { kAFloat = 1, kAInt, kAString, kATensor, kAFloats = 6, kAInts, kAStrings };

std::string message_of(const TensorValue& value) {
  std::string message = tensor_fields("", value.type, value.shape);
  append_bytes(message, 9, value.bytes);
  return message;
}

template <class... Cases> struct Overloaded : Cases... {
  using Cases::operator()...;
};

// Not texts, and not what is stored in fields of a type that the engine has not.
bool has_readable_elements(const StoredTensor& tensor) {
  return data_type_of(tensor.type).has_value()
         && (tensor.raw || tensor.is_external || is_exact(tensor.type));
}

std::vector<float> floats_of(std::string_view bytes) {
  std::vector<float> values;
  Records records(bytes);
  while (const auto record = records.next()) {
    if (record->field != 7 || record->payload.size() % 4 != 0) continue;
    for (size_t i = 0; i < record->payload.size(); i += 4)
      std::memcpy(&values.emplace_back(), record->payload.data() + i, 4);
  }
  return values;
}

}  // namespace

AttributeContent attribute_of(Store& store, const std::string& name, const AttributeValue& value) {
  require(!name.empty(), "an attribute has no name");
  std::string bytes;
  append_bytes(bytes, 1, name);
  const uint64_t type = std::visit(Overloaded{[&](int64_t v) {
                                                append_number(bytes, 3, static_cast<uint64_t>(v));
                                                return kAInt;
                                              },
                                              [&](float v) {
                                                append_float(bytes, 2, v);
                                                return kAFloat;
                                              },
                                              [&](const std::string& v) {
                                                append_bytes(bytes, 4, v);
                                                return kAString;
                                              },
                                              [&](const TensorValue& v) {
                                                check_tensor(name, v);
                                                append_bytes(bytes, 5, message_of(v));
                                                return kATensor;
                                              },
                                              [&](const std::vector<int64_t>& v) {
                                                for (const int64_t each : v)
                                                  append_number(bytes, 8, uint64_t(each));
                                                return kAInts;
                                              },
                                              [&](const std::vector<float>& v) {
                                                for (const float each : v)
                                                  append_float(bytes, 7, each);
                                                return kAFloats;
                                              },
                                              [&](const std::vector<std::string>& v) {
                                                for (const std::string& each : v)
                                                  append_bytes(bytes, 9, each);
                                                return kAStrings;
                                              },
                                              [&](const OtherAttribute& v) {
                                                bytes = with_name(v.bytes, 1, name);
                                                return decltype(kAInt)(0);
                                              }},
                                   value);
  if (type != 0) append_number(bytes, 20, type);
  const std::string_view kept = store.keep(std::move(bytes));
  return {bytes_field(kept, 1), kept, {}};
}

AttributeValue value_of(Store& store, const AttributeContent& attribute) {
  const std::string_view bytes = attribute.bytes;
  switch (number_field(bytes, 20)) {
    case kAInt:
      return number_field(bytes, 3);
    case kAFloat: {
      NodeContent node;
      node.attributes.push_back(attribute);
      return float_attribute(node, attribute.name, 0);
    }
    case kAString:
      return std::string(bytes_field(bytes, 4));
    case kATensor:
      if (has_readable_elements(stored_tensor(bytes_field(bytes, 5))))
        return tensor_value(store, bytes_field(bytes, 5), {});
      break;
    case kAInts: {
      NodeContent node;
      node.attributes.push_back(attribute);
      return integers_attribute(node, attribute.name).value();
    }
    case kAFloats:
      return floats_of(bytes);
    case kAStrings: {
      std::vector<std::string> values;
      Records records(bytes);
      while (const auto record = records.next())
        if (record->field == 9) values.emplace_back(record->payload);
      return values;
    }
    default:
      break;
  }
  return OtherAttribute{std::string(bytes)};
}

void check_tensor(const std::string& name, const TensorValue& value) {
  StoredTensor tensor;
  tensor.name = name;
  tensor.type = value.type;
  tensor.dims = value.shape;
  require(data_type_of(value.type).has_value(), "'{}': elements of {} are not supported yet", name,
          onnx_type_name(value.type));
  const uint64_t needed = tensor.stored_bytes();
  require(value.bytes.size() == needed, "'{}': type {} and shape [{}] need {} bytes, not {}", name,
          onnx_type_name(value.type), fmt::join(value.shape, ","), needed, value.bytes.size());
}

std::string_view external_bytes(Store& store, std::string_view fields) {
  const StoredTensor stored = stored_tensor(fields);
  require(data_type_of(stored.type).has_value(),
          "tensor '{}' of {} in a file of its own is not supported yet", stored.name,
          onnx_type_name(stored.type));
  onnx::TensorProto proto;
  require(proto.ParseFromArray(fields.data(), static_cast<int>(fields.size())),
          "tensor '{}' is damaged", stored.name);
  return with_context(fmt::format("tensor '{}'", printable(std::string(stored.name))), [&] {
    ExternalBytes external = read_external(proto, store.source(), stored.stored_bytes());
    store.keep(std::move(external.owner));
    return std::string_view(reinterpret_cast<const char*>(external.bytes.data()),
                            external.bytes.size());
  });
}

AttributeContent constant_attribute(Store& store, const Tensor& tensor) {
  return attribute_of(store, "value",
                      TensorValue{onnx_type_of(tensor.type()),
                                  {tensor.shape().begin(), tensor.shape().end()},
                                  {tensor.data<char>(), tensor.bytes()}});
}

TensorValue tensor_value(Store& store, std::string_view fields, std::string_view raw) {
  const StoredTensor stored = stored_tensor(fields);
  if (raw.data() == nullptr && stored.is_external) raw = external_bytes(store, fields);
  if (raw.data() == nullptr && stored.raw) raw = *stored.raw;
  if (raw.data() != nullptr) return {stored.type, stored.dims, std::string(raw)};
  require(is_exact(stored.type),
          "tensor '{}': elements of {} outside of raw_data are not "
          "supported yet",
          stored.name, onnx_type_name(stored.type));
  const Tensor tensor = read_tensor(store, fields);
  return {stored.type, stored.dims, {tensor.data<char>(), tensor.bytes()}};
}

std::string text_of(const AttributeValue& value) {
  std::string text = std::visit(
      Overloaded{
          [](int64_t v) { return fmt::format("{}", v); },
          [](float v) { return fmt::format("{}", v); },
          [](const std::string& v) { return fmt::format("'{}'", printable(v)); },
          [](const TensorValue& v) {
            TensorType type{v.type, true, {}};
            for (const int64_t extent : v.shape) type.shape.push_back({extent, ""});
            return text_of(type);
          },
          [](const std::vector<int64_t>& v) { return fmt::format("[{}]", fmt::join(v, ",")); },
          [](const std::vector<float>& v) { return fmt::format("[{}]", fmt::join(v, ",")); },
          [](const std::vector<std::string>& v) {
            return printable(fmt::format("['{}']", fmt::join(v, "', '")));
          },
          [](const OtherAttribute&) { return std::string("…"); }},
      value);
  constexpr size_t kLongest = 60;
  if (text.size() <= kLongest) return text;
  size_t end = kLongest - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

bool has_attribute_of_function(const NodeContent& node) {
  constexpr uint32_t kReference = 21;  // the field of an attribute with the name of the function's
  return std::ranges::any_of(node.attributes, [](const AttributeContent& attribute) {
    return !bytes_field(attribute.bytes, kReference).empty();
  });
}

int64_t integer_attribute(const NodeContent& node, std::string_view name, int64_t otherwise) {
  const AttributeContent* found = node.find(name);
  return found == nullptr ? otherwise : number_field(found->bytes, 3, otherwise);
}

float float_attribute(const NodeContent& node, std::string_view name, float otherwise) {
  const AttributeContent* found = node.find(name);
  if (found == nullptr) return otherwise;
  Records records(found->bytes);
  while (const auto record = records.next())
    if (record->field == 2 && record->wire == Record::kFixed32)
      std::memcpy(&otherwise, record->payload.data(), 4);
  return otherwise;
}

std::string text_attribute(const NodeContent& node, std::string_view name,
                           const std::string& otherwise) {
  const AttributeContent* found = node.find(name);
  return found == nullptr ? otherwise : std::string(bytes_field(found->bytes, 4));
}

std::optional<std::vector<int64_t>> integers_attribute(const NodeContent& node,
                                                       std::string_view name) {
  const AttributeContent* found = node.find(name);
  if (found == nullptr) return std::nullopt;
  std::vector<int64_t> values;
  Records records(found->bytes);
  while (const auto record = records.next())
    if (record->field == 8) append_numbers(values, *record);
  return values;
}

namespace {

AttributeContent kept_attribute(Store& store, const std::string& name, std::string value,
                                uint64_t type) {
  std::string bytes;
  append_bytes(bytes, 1, name);
  bytes += value;
  append_number(bytes, 20, type);
  const std::string_view kept = store.keep(std::move(bytes));
  return {bytes_field(kept, 1), kept, {}};
}

}  // namespace

AttributeContent attribute(Store& store, const std::string& name, int64_t value) {
  std::string bytes;
  append_number(bytes, 3, static_cast<uint64_t>(value));
  return kept_attribute(store, name, std::move(bytes), 2);
}

AttributeContent attribute(Store& store, const std::string& name,
                           const std::vector<int64_t>& values) {
  std::string bytes;
  for (const int64_t value : values) append_number(bytes, 8, static_cast<uint64_t>(value));
  return kept_attribute(store, name, std::move(bytes), 7);
}

AttributeContent text_attribute(Store& store, const std::string& name, std::string_view value) {
  std::string bytes;
  append_bytes(bytes, 4, value);
  return kept_attribute(store, name, std::move(bytes), 3);
}

}  // namespace tenon::edit
