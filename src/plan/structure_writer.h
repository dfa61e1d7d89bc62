// How parts of a plan file's structure are written.
#pragma once

#include "base/fields.h"
#include "base/tensor.h"
#include "plan/plan_generated.h"
#include "plan/structure.h"

namespace tenon {

namespace fb = flatbuffers;

inline fb::Offset<schema::Field> write_field(fb::FlatBufferBuilder& b, const std::string& name,
                                             const FieldValue& value) {
  const auto name_offset = b.CreateString(name);
  fb::Offset<fb::Vector<uint8_t>> bytes;
  fb::Offset<fb::Vector<int64_t>> integers;
  fb::Offset<fb::Vector<double>> reals;
  if (const auto* text = std::get_if<std::string>(&value))
    bytes = b.CreateVector(reinterpret_cast<const uint8_t*>(text->data()), text->size());
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
    integers = b.CreateVector(*list);
  if (const auto* list = std::get_if<std::vector<double>>(&value)) reals = b.CreateVector(*list);
  schema::FieldBuilder f(b);
  f.add_name(name_offset);
  f.add_kind(static_cast<uint8_t>(value.index()));
  if (const auto* v = std::get_if<bool>(&value)) f.add_flag(*v);
  if (const auto* v = std::get_if<int64_t>(&value)) f.add_integer(*v);
  if (const auto* v = std::get_if<double>(&value)) f.add_real(*v);
  if (!bytes.IsNull()) f.add_bytes(bytes);
  if (!integers.IsNull()) f.add_integers(integers);
  if (!reals.IsNull()) f.add_reals(reals);
  return f.Finish();
}

inline auto write_fields(fb::FlatBufferBuilder& b, const FieldList& fields) {
  std::vector<fb::Offset<schema::Field>> list;
  for (const auto& [name, value] : fields) list.push_back(write_field(b, name, value));
  return b.CreateVector(list);
}

inline std::vector<int64_t> list_of(const Shape& s) {
  return {s.begin(), s.end()};
}

inline fb::Offset<schema::Weight> write_weight(fb::FlatBufferBuilder& b, const Tensor& tensor,
                                               WeightSection& section) {
  const auto shape = list_of(tensor.shape());
  const bool stripped = !tensor.has_data();
  return schema::CreateWeightDirect(b, static_cast<int32_t>(tensor.type()), &shape,
                                    stripped ? 0 : section.add(tensor),
                                    stripped ? 0 : tensor.bytes());
}

}  // namespace tenon
