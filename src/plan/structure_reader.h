// How parts of a plan file's structure are read. What is an enum, an index or a place is checked.
#pragma once

#include "base/error.h"
#include "base/fields.h"
#include "base/tensor.h"
#include "plan/plan_generated.h"
#include "plan/structure.h"

namespace tenon {

namespace fb = flatbuffers;

// The verifier does not look at the alignment of a vector's elements.
template <class T> const fb::Vector<T>* checked(const fb::Vector<T>* v, size_t alignment) {
  require(v == nullptr || v->size() == 0 || reinterpret_cast<uintptr_t>(v->Data()) % alignment == 0,
          "the plan is damaged: its structure is not aligned");
  return v;
}
template <class T> std::vector<T> list_from(const fb::Vector<T>* v) {
  checked(v, alignof(T));
  return v == nullptr ? std::vector<T>() : std::vector<T>(v->begin(), v->end());
}
inline std::string text_from(const fb::String* s) {
  return s == nullptr ? std::string() : s->str();
}
inline Shape shape_from(const fb::Vector<int64_t>* v) {
  return Shape(std::span<const int64_t>(list_from(v)));
}

template <class Table, class Visit>
void for_each(const fb::Vector<fb::Offset<Table>>* list, const Visit& visit) {
  if (list == nullptr) return;
  for (const Table* row : *list) visit(*row);
}

inline FieldList fields_from(const fb::Vector<fb::Offset<schema::Field>>* list) {
  FieldList fields;
  for_each(list, [&](const schema::Field& f) {
    FieldValue value;
    switch (f.kind()) {
      case 0:
        value = f.flag();
        break;
      case 1:
        value = f.integer();
        break;
      case 2:
        value = f.real();
        break;
      case 3: {
        const auto bytes = list_from(f.bytes());
        value = std::string(bytes.begin(), bytes.end());
        break;
      }
      case 4:
        value = list_from(f.integers());
        break;
      case 5:
        value = list_from(f.reals());
        break;
      default:
        fail(ErrorCode::kINVALID_ARGUMENT, "attribute of unknown kind {}", f.kind());
    }
    fields.emplace_back(text_from(f.name()), std::move(value));
  });
  return fields;
}

inline void check_index(int64_t index, size_t count, const char* what) {
  require(index >= 0 && static_cast<size_t>(index) < count, "{} {} is outside the {} there are",
          what, index, count);
}

inline DataType type_from(int32_t type) {
  name_of(static_cast<DataType>(type));  // throws for an unknown one
  return static_cast<DataType>(type);
}

// A view into the section, which `owner` keeps alive; without data where it is stripped.
inline Tensor weight_from(const schema::Weight& w, std::span<const std::byte> section,
                          const std::shared_ptr<const void>& owner, bool stripped = false) {
  const DataType type = type_from(w.type());
  const Shape shape = shape_from(w.shape());
  const int64_t count = shape.volume();
  const size_t expected = count <= INT64_MAX / 8 && !stripped ? bytes_of(type, count) : 0;
  require(count <= INT64_MAX / 8 && expected == w.bytes(), "weights of shape {} have {} bytes",
          shape, w.bytes());
  if (stripped) return Tensor(type, shape, nullptr, nullptr);
  require(w.offset() <= section.size() && w.bytes() <= section.size() - w.offset()
              && w.offset() % kPlanAlignment == 0,
          "weights lie outside their section");
  return Tensor(type, shape, owner, section.data() + w.offset());
}

}  // namespace tenon
