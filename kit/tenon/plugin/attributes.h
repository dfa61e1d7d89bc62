/// Attributes to and from TensorRT's plugin fields. A value that does not fit is an error that
/// names plugin and attribute; nothing is narrowed silently. Fields that a plugin does not declare
/// are left alone: whoever reads the model warns about them.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "tenon/plugin/spec.h"

namespace tenon {
namespace kit {

using nvinfer1::PluginField;
using nvinfer1::PluginFieldCollection;
using nvinfer1::PluginFieldType;

template <class V> struct IsVector : std::false_type {};
template <class E> struct IsVector<std::vector<E>> : std::true_type {};

/// The field type that a member of type V is declared and saved as.
template <class V> constexpr PluginFieldType field_type() {
  if constexpr (std::is_enum_v<V> || std::is_same_v<V, bool> || std::is_same_v<V, int32_t>)
    return PluginFieldType::kINT32;
  else if constexpr (std::is_same_v<V, int64_t>)
    return PluginFieldType::kINT64;
  else if constexpr (std::is_same_v<V, float>)
    return PluginFieldType::kFLOAT32;
  else if constexpr (std::is_same_v<V, double>)
    return PluginFieldType::kFLOAT64;
  else if constexpr (std::is_same_v<V, std::string>)
    return PluginFieldType::kCHAR;
  else
    return field_type<typename V::value_type>();
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
  FieldReader(const PluginField& field, std::string what) : field_(field), what_(std::move(what)) {
    // Scalars made by hand often leave the length at its default of 0.
    count_ = field.length == 0 && field.data != nullptr ? 1 : field.length;
    if (field.length < 0 || (field.length > 0 && field.data == nullptr))
      fail("has length " + std::to_string(field.length) + " and no data");
  }

  template <class V> void read(V& to) const {
    if constexpr (std::is_same_v<V, std::string>) {
      to = text();
    } else if constexpr (IsVector<V>::value) {
      V list(static_cast<size_t>(field_.length));
      for (size_t i = 0; i < list.size(); ++i)
        list[i] = element<typename V::value_type>(static_cast<int64_t>(i));
      to = std::move(list);
    } else {
      if (count_ != 1) fail("takes one value, found " + std::to_string(field_.length));
      to = element<V>(0);
    }
  }

  template <class V, size_t N> void read(V& to, const std::array<Choice<V>, N>& choices) const {
    std::string expected;
    const bool by_name = field_.type == PluginFieldType::kCHAR;
    const std::string wanted = by_name ? text() : "";
    const int64_t number = by_name ? 0 : element<int64_t>(0);
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
  [[noreturn]] void fail(const std::string& why) const {
    throw std::invalid_argument(what_ + " " + why);
  }
  [[noreturn]] void fail_type(const char* expected) const {
    fail(std::string("has type ") + name_of(field_.type) + "; expected " + expected);
  }

  std::string text() const {
    if (field_.type != PluginFieldType::kCHAR && field_.type != PluginFieldType::kUNKNOWN)
      fail_type("a string");
    std::string s(static_cast<const char*>(field_.data), static_cast<size_t>(field_.length));
    while (!s.empty() && s.back() == '\0') s.pop_back();
    return s;
  }

  int64_t integer(int64_t i) const {
    switch (field_.type) {
      case PluginFieldType::kINT8:
        return load<int8_t>(field_.data, i);
      case PluginFieldType::kINT16:
        return load<int16_t>(field_.data, i);
      case PluginFieldType::kINT32:
        return load<int32_t>(field_.data, i);
      case PluginFieldType::kINT64:
        return load<int64_t>(field_.data, i);
      default:
        fail_type("an integer");
    }
  }

  double real(int64_t i) const {
    switch (field_.type) {
      case PluginFieldType::kFLOAT32:
        return load<float>(field_.data, i);
      case PluginFieldType::kFLOAT64:
        return load<double>(field_.data, i);
#if !defined(__CUDACC__)
      case PluginFieldType::kFLOAT16:
        return static_cast<double>(load<Half>(field_.data, i));
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
    if (field_.data == nullptr) fail("has no data");
    if constexpr (std::is_floating_point_v<E>) {
      const double value = real(i);
      if (std::isfinite(value) && std::fabs(value) > std::numeric_limits<E>::max())
        fail("is " + std::to_string(value) + ", which does not fit");
      return static_cast<E>(value);
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

  const PluginField& field_;
  std::string what_;
  int64_t count_ = 0;
};

template <class P, class F> void for_each_attribute(const F& f) {
  if constexpr (requires { P::attributes; })
    std::apply([&](const auto&... a) { (f(a), ...); }, P::attributes);
}

template <class P> std::string label_of() {
  return std::string("plugin ") + P::spec.name + " version " + P::spec.version;
}

template <class P> P parse(const PluginFieldCollection* fields) {
  const int32_t count = fields == nullptr || fields->fields == nullptr ? 0 : fields->nbFields;
  P plugin;
  for_each_attribute<P>([&](const auto& a) {
    const std::string what = label_of<P>() + ": attribute " + a.name;
    bool found = false;
    for (int32_t i = 0; i < count; ++i) {
      const PluginField& field = fields->fields[i];
      if (field.name == nullptr || std::string_view(field.name) != a.name) continue;
      const FieldReader reader(field, what);
      if constexpr (requires { a.choices; })
        reader.read(plugin.*a.member, a.choices);
      else
        reader.read(plugin.*a.member);
      found = true;
    }
    if (!found && a.is_required) throw std::invalid_argument(what + " is required");
  });
  return plugin;
}

/// The attributes' values as fields that own their data, and as one block of bytes.
class StoredAttributes {
 public:
  StoredAttributes() = default;
  StoredAttributes(StoredAttributes&&) = default;  // heap addresses stay
  StoredAttributes& operator=(StoredAttributes&&) = default;
  template <class P> explicit StoredAttributes(const P& plugin) {
    for_each_attribute<P>([&](const auto& a) {
      using V = std::decay_t<decltype(plugin.*a.member)>;
      const V& value = plugin.*a.member;
      if constexpr (std::is_same_v<V, std::string> || IsVector<V>::value) {
        using E = typename V::value_type;
        add(a.name, field_type<V>(), value.size(), value.data(), value.size() * sizeof(E));
      } else if constexpr (std::is_enum_v<V> || std::is_same_v<V, bool>) {
        const auto number = static_cast<int32_t>(value);
        add(a.name, field_type<V>(), 1, &number, sizeof(number));
      } else {
        add(a.name, field_type<V>(), 1, &value, sizeof(value));
      }
    });
    seal();
  }
  /// Reads bytes() back for plugin P. Throws std::invalid_argument when they are not its.
  template <class P> static StoredAttributes from_bytes(const void* data, size_t size) {
    StoredAttributes stored;
    size_t at = 0;
    const auto take = [&](void* to, size_t count) {
      if (count > size - at)
        throw std::invalid_argument(label_of<P>() + ": the serialized attributes end too early");
      if (count > 0) std::memcpy(to, static_cast<const char*>(data) + at, count);
      at += count;
    };
    for_each_attribute<P>([&](const auto& a) {
      int32_t header[3] = {};
      take(header, sizeof(header));
      if (header[1] < 0 || header[2] < 0 || static_cast<size_t>(header[2]) > size - at)
        throw std::invalid_argument(label_of<P>() + ": the serialized attribute " + a.name
                                    + " is damaged");
      std::string value(static_cast<size_t>(header[2]), '\0');
      take(value.data(), value.size());
      const auto type = static_cast<PluginFieldType>(header[0]);
      const size_t unit = unit_of(type);
      if (unit == 0 || value.size() != unit * static_cast<size_t>(header[1]))
        throw std::invalid_argument(label_of<P>() + ": the serialized attribute " + a.name
                                    + " is damaged");
      stored.add(a.name, type, header[1], value.data(), value.size());
    });
    if (at != size)
      throw std::invalid_argument(label_of<P>() + ": the serialized attributes are too long");
    stored.seal();
    return stored;
  }

  const PluginFieldCollection* collection() const { return &collection_; }
  std::string bytes() const {
    std::string all;
    for (size_t i = 0; i < fields_.size(); ++i) {
      const int32_t header[3] = {static_cast<int32_t>(fields_[i].type), fields_[i].length,
                                 static_cast<int32_t>(values_[i].size())};
      all.append(reinterpret_cast<const char*>(header), sizeof(header));
      all += values_[i];
    }
    return all;
  }

 private:
  static size_t unit_of(PluginFieldType type) {
    switch (type) {
      case PluginFieldType::kINT64:
      case PluginFieldType::kFLOAT64:
        return 8;
      case PluginFieldType::kINT32:
      case PluginFieldType::kFLOAT32:
        return 4;
      case PluginFieldType::kCHAR:
        return 1;
      default:
        return 0;  // not what attributes are saved as
    }
  }
  void add(const char* name, PluginFieldType type, size_t length, const void* data, size_t bytes) {
    values_.emplace_back(static_cast<const char*>(data), bytes);
    fields_.emplace_back(name, nullptr, type, static_cast<int32_t>(length));
  }
  // Strings are in their place now, so that they can be pointed at.
  void seal() {
    for (size_t i = 0; i < fields_.size(); ++i) fields_[i].data = values_[i].data();
    collection_ = {static_cast<int32_t>(fields_.size()), fields_.data()};
  }

  std::vector<std::string> values_;
  std::vector<PluginField> fields_;
  PluginFieldCollection collection_{0, nullptr};
};

/// What a creator declares: names and types, no data.
template <class P> std::vector<PluginField> declared_fields() {
  std::vector<PluginField> fields;
  for_each_attribute<P>([&](const auto& a) {
    using V = std::decay_t<decltype(std::declval<P&>().*a.member)>;
    fields.emplace_back(a.name, nullptr, field_type<V>(), 1);
  });
  return fields;
}

}  // namespace kit
}  // namespace tenon
