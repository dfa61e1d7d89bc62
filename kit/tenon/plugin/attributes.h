/// Attributes to and from TensorRT's plugin fields. A value that does not fit is an error that
/// names plugin and attribute; nothing is narrowed silently. Fields that a plugin does not declare
/// are left alone: whoever reads the model warns about them.
#pragma once

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "tenon/plugin/attribute.h"
#include "tenon/plugin/elements.h"

namespace tenon {
namespace kit {

using nvinfer1::PluginField;
using nvinfer1::PluginFieldCollection;
using nvinfer1::PluginFieldType;

template <class V> struct IsVector : std::false_type {};
/// Not of std::vector<bool>, which has no array of its elements.
template <class E>
struct IsVector<std::vector<E>> : std::bool_constant<!std::is_same_v<E, bool>> {};

/// The field type that a member of type V is declared as.
template <class V> constexpr PluginFieldType field_type() {
  if constexpr (std::is_enum_v<V> || std::is_same_v<V, bool> || std::is_same_v<V, int32_t>)
    return PluginFieldType::kINT32;
  else if constexpr (std::is_same_v<V, int8_t>)
    return PluginFieldType::kINT8;
  else if constexpr (std::is_same_v<V, int16_t>)
    return PluginFieldType::kINT16;
  else if constexpr (std::is_same_v<V, int64_t>)
    return PluginFieldType::kINT64;
  else if constexpr (std::is_same_v<V, float>)
    return PluginFieldType::kFLOAT32;
  else if constexpr (std::is_same_v<V, double>)
    return PluginFieldType::kFLOAT64;
  else if constexpr (std::is_same_v<V, Half>)
    return PluginFieldType::kFLOAT16;
  else if constexpr (std::is_same_v<V, BFloat16>)
    return PluginFieldType::kBF16;
  else if constexpr (std::is_same_v<V, std::string>)
    return PluginFieldType::kCHAR;
  else if constexpr (std::is_same_v<V, nvinfer1::Dims>)
    return PluginFieldType::kDIMS;
  else {
    static_assert(IsVector<V>::value,
                  "an attribute is a bool, a signed integer, a float, double, Half or BFloat16, a "
                  "std::vector of numbers, a std::string, nvinfer1::Dims, or an enumeration");
    if constexpr (IsVector<V>::value) return field_type<typename V::value_type>();
  }
}
/// Bytes of an element; 0 for what no attribute is saved as.
inline size_t bytes_of(PluginFieldType type) {
  switch (type) {
    case PluginFieldType::kINT64:
    case PluginFieldType::kFLOAT64:
      return 8;
    case PluginFieldType::kINT32:
    case PluginFieldType::kFLOAT32:
      return 4;
    case PluginFieldType::kINT16:
    case PluginFieldType::kFLOAT16:
    case PluginFieldType::kBF16:
      return 2;
    case PluginFieldType::kINT8:
    case PluginFieldType::kCHAR:
      return 1;
    default:
      return 0;
  }
}

inline const char* name_of(PluginFieldType type) {
  constexpr const char* kNames[] = {"float16", "float32", "float64", "int8",    "int16",
                                    "int32",   "string",  "dims",    "unknown", "bfloat16",
                                    "int64",   "float8",  "int4",    "float4"};
  const auto i = static_cast<size_t>(type);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

template <class V> V load(const void* data, int64_t i) {
  V value;
  std::memcpy(&value, static_cast<const char*>(data) + i * sizeof(V), sizeof(V));
  return value;
}

/// Reads one field; `what` is "plugin X: attribute Y" for messages.
class FieldReader {
 public:
  /// A length in bytes counts, too, where a number of values is given for it.
  FieldReader(const PluginField& field, std::string what, int32_t count_in_bytes = 0)
      : data_(field.data), type_(field.type), length_(field.length), what_(std::move(what)) {
    if (length_ < 0 || (length_ > 0 && data_ == nullptr))
      fail("has length " + std::to_string(length_) + " and no data");
    if (type_ == PluginFieldType::kDIMS && data_ != nullptr) {
      const auto* dims = static_cast<const nvinfer1::Dims*>(data_);
      length_ = dims->nbDims;
      if (length_ < 0 || length_ > nvinfer1::Dims::MAX_DIMS)
        fail("has " + std::to_string(length_) + " dimensions");
      type_ = PluginFieldType::kINT64;
      data_ = dims->d;
    } else if (length_ == 0 && data_ != nullptr) {
      is_single_ = true;  // numbers made by hand often leave the length at its default
    }
    if (length_ > count_in_bytes
        && static_cast<size_t>(length_) == static_cast<size_t>(count_in_bytes) * bytes_of(type_))
      length_ = count_in_bytes;
  }

  template <class V> void read(V& to) const {
    if constexpr (std::is_same_v<V, std::string>) {
      to = text();
    } else if constexpr (IsVector<V>::value) {
      using E = typename V::value_type;
      V list(static_cast<size_t>(length_));
      if (type_ == field_type<V>()) {
        if (!list.empty()) std::memcpy(list.data(), data_, list.size() * sizeof(E));
      } else {
        for (size_t i = 0; i < list.size(); ++i) list[i] = element<E>(static_cast<int64_t>(i));
      }
      to = std::move(list);
    } else if constexpr (std::is_same_v<V, nvinfer1::Dims>) {
      if (length_ > nvinfer1::Dims::MAX_DIMS)
        fail("has " + std::to_string(length_) + " dimensions; expected at most 8");
      to.nbDims = length_;
      for (int i = 0; i < length_; ++i) to.d[i] = element<int64_t>(i);
    } else {
      if (length_ != 1 && type_ == PluginFieldType::kCHAR)
        fail_type(std::is_integral_v<V> ? "an integer" : "a number");
      if (length_ != 1 && !is_single_) fail("takes one value, found " + std::to_string(length_));
      to = element<V>(0);
    }
  }

  template <class V, size_t N> void read(V& to, const std::array<Choice<V>, N>& choices) const {
    std::string expected;
    const bool by_name = type_ == PluginFieldType::kCHAR;
    const std::string wanted = by_name ? text() : "";
    int64_t number = 0;
    if (!by_name) read(number);
    for (const Choice<V>& c : choices) {
      if (by_name ? c.name == wanted : static_cast<int64_t>(c.value) == number) {
        to = c.value;
        return;
      }
      expected += (expected.empty() ? "" : ", ") + std::string(c.name) + " ("
                  + std::to_string(static_cast<int64_t>(c.value)) + ")";
    }
    fail("is " + (by_name ? "\"" + wanted + "\"" : std::to_string(number)) + "; expected one of "
         + expected);
  }

 private:
  // What a number is converted through: CUDA's halves have no conversion from double.
  template <class E> using Wide = std::conditional_t<std::is_same_v<E, double>, double, float>;

  [[noreturn]] void fail(const std::string& why) const {
    throw std::invalid_argument(what_ + " " + why);
  }
  [[noreturn]] void fail_type(const char* expected) const {
    fail(std::string("has type ") + name_of(type_) + "; expected " + expected);
  }

  std::string text() const {
    if (type_ != PluginFieldType::kCHAR && type_ != PluginFieldType::kUNKNOWN)
      fail_type("a string");
    std::string s(static_cast<const char*>(data_), static_cast<size_t>(length_));
    while (!s.empty() && s.back() == '\0') s.pop_back();
    return s;
  }

  int64_t integer(int64_t i) const {
    switch (type_) {
      case PluginFieldType::kINT8:
        return load<int8_t>(data_, i);
      case PluginFieldType::kINT16:
        return load<int16_t>(data_, i);
      case PluginFieldType::kINT32:
        return load<int32_t>(data_, i);
      case PluginFieldType::kINT64:
        return load<int64_t>(data_, i);
      default:
        fail_type("an integer");
    }
  }

  double real(int64_t i) const {
    switch (type_) {
      case PluginFieldType::kFLOAT32:
        return load<float>(data_, i);
      case PluginFieldType::kFLOAT64:
        return load<double>(data_, i);
#if !defined(__CUDACC__)
      case PluginFieldType::kFLOAT16:
        return static_cast<double>(load<Half>(data_, i));
      case PluginFieldType::kBF16:
        return static_cast<double>(load<BFloat16>(data_, i));
#endif
      case PluginFieldType::kINT8:
      case PluginFieldType::kINT16:
      case PluginFieldType::kINT32:
      case PluginFieldType::kINT64:
        return static_cast<double>(integer(i));
      default:
        fail_type("a number");
    }
  }

  template <class E> E element(int64_t i) const {
    if (data_ == nullptr) fail("has no data");
    if constexpr (!std::is_integral_v<E>) {
      const double value = real(i);
      const E converted = static_cast<E>(static_cast<Wide<E>>(value));
      if (std::isfinite(value) && !std::isfinite(static_cast<double>(converted)))
        fail("is " + std::to_string(value) + ", which does not fit");
      return converted;
    } else {
      const int64_t value = integer(i);
      const bool fits = std::is_same_v<E, bool>
                            ? value == 0 || value == 1
                            : value >= static_cast<int64_t>(std::numeric_limits<E>::min())
                                  && value <= static_cast<int64_t>(std::numeric_limits<E>::max());
      if (!fits)
        fail("is " + std::to_string(value)
             + (std::is_same_v<E, bool> ? "; expected 0 or 1" : ", which does not fit"));
      return static_cast<E>(value);
    }
  }

  const void* data_;
  PluginFieldType type_;
  int32_t length_;
  bool is_single_ = false;
  std::string what_;
};

template <class P, class F> void for_each_attribute(const F& f) {
  if constexpr (requires { P::attributes; })
    std::apply([&](const auto&... a) { (f(a), ...); }, P::attributes);
}

/// A plugin with the attributes that `fields` give; `label` names it in messages.
template <class P> P parse(const PluginFieldCollection* fields, const std::string& label) {
  const int32_t count = fields == nullptr || fields->fields == nullptr ? 0 : fields->nbFields;
  P plugin;
  for_each_attribute<P>([&](const auto& a) {
    const std::string what = label + ": attribute " + a.name;
    const PluginField* given = nullptr;
    for (const char* name : {a.name, a.aliases[0], a.aliases[1]})
      for (int32_t i = 0; name != nullptr && given == nullptr && i < count; ++i)
        if (const char* found = fields->fields[i].name;
            found != nullptr && std::string_view(found) == name)
          given = &fields->fields[i];
    if (given == nullptr) {
      if (a.is_required) throw std::invalid_argument(what + " is required");
      return;
    }
    const FieldReader reader(*given, what, a.count_in_bytes);
    if constexpr (std::tuple_size_v<decltype(a.choices)> > 0)
      reader.read(plugin.*a.member, a.choices);
    else
      reader.read(plugin.*a.member);
  });
  if constexpr (requires { plugin.prepare(); }) plugin.prepare();
  return plugin;
}

/// What a creator declares: names and types, no data.
template <class P> std::vector<PluginField> declared_fields() {
  std::vector<PluginField> fields;
  for_each_attribute<P>([&](const auto& a) {
    using V = std::decay_t<decltype(std::declval<P&>().*a.member)>;
    for (const char* name : {a.name, a.aliases[0], a.aliases[1]})
      if (name != nullptr) fields.emplace_back(name, nullptr, field_type<V>(), 1);
  });
  return fields;
}

}  // namespace kit
}  // namespace tenon
