// One list of an object's attributes, from which saving, loading, dumping and hashing are derived.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/shape.h"
#include "base/variant.h"

namespace tenon {

using FieldValue =
    Variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;
using FieldList = std::vector<std::pair<std::string, FieldValue>>;

/// Walks over the attributes of an object: `visit(v)` calls `v("name", member)` for each.
/// Members may be bool, integers, enums, float, double, std::string, Shape, and vectors of these.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  template <class T> void operator()(const char* name, T& member);

 protected:
  /// Reads or replaces `value`, which holds the alternative that fits the member.
  virtual void visit(const char* name, FieldValue& value) = 0;
};

/// The attributes of `object`, in declaration order.
template <class Object> FieldList fields_of(const Object& object);

/// Sets the attributes of `object`; throws when a name is missing, unknown or of another type.
template <class Object> void set_fields(Object& object, const FieldList& fields);

/// A value as text: numbers plainly, lists in brackets, strings quoted.
std::string text_of(const FieldValue& value);

// Implementation.

namespace detail {

template <class T> FieldValue to_field(const T& m) {
  if constexpr (std::is_same_v<T, bool>)
    return m;
  else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>)
    return static_cast<int64_t>(m);
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<double>(m);
  else if constexpr (std::is_same_v<T, std::string>)
    return m;
  else if constexpr (std::is_same_v<T, Shape>)
    return std::vector<int64_t>(m.begin(), m.end());
  else if constexpr (std::is_floating_point_v<typename T::value_type>)
    return std::vector<double>(m.begin(), m.end());
  else {
    std::vector<int64_t> list;
    for (const auto& e : m) list.push_back(static_cast<int64_t>(e));
    return list;
  }
}

template <class T> void from_field(const FieldValue& v, T& m) {
  if constexpr (std::is_same_v<T, bool>)
    m = std::get<bool>(v);
  else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>)
    m = static_cast<T>(std::get<int64_t>(v));
  else if constexpr (std::is_floating_point_v<T>)
    m = static_cast<T>(std::get<double>(v));
  else if constexpr (std::is_same_v<T, std::string>)
    m = std::get<std::string>(v);
  else if constexpr (std::is_same_v<T, Shape>)
    m = Shape(std::span<const int64_t>(std::get<std::vector<int64_t>>(v)));
  else if constexpr (std::is_floating_point_v<typename T::value_type>) {
    const auto& list = std::get<std::vector<double>>(v);
    m.assign(list.begin(), list.end());
  } else {
    m.clear();
    for (int64_t e : std::get<std::vector<int64_t>>(v))
      m.push_back(static_cast<typename T::value_type>(e));
  }
}

class FieldCollector final : public FieldVisitor {
 public:
  FieldList fields;

 private:
  void visit(const char* name, FieldValue& value) override { fields.emplace_back(name, value); }
};

class FieldSetter final : public FieldVisitor {
 public:
  explicit FieldSetter(const FieldList& fields) : fields_(fields) {}
  /// Throws when a field was not asked for.
  void finish() const;

 private:
  void visit(const char* name, FieldValue& value) override;
  const FieldList& fields_;
  size_t next_ = 0;
};

}  // namespace detail

template <class T> void FieldVisitor::operator()(const char* name, T& member) {
  const FieldValue before = detail::to_field(member);
  FieldValue value = before;
  visit(name, value);
  if (value != before) detail::from_field(value, member);
}

template <class Object> FieldList fields_of(const Object& object) {
  detail::FieldCollector collector;
  const_cast<Object&>(object).visit(collector);  // a collector changes nothing
  return std::move(collector.fields);
}

template <class Object> void set_fields(Object& object, const FieldList& fields) {
  detail::FieldSetter setter(fields);
  object.visit(setter);
  setter.finish();
}

}  // namespace tenon
