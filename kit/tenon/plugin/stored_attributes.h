/// Attributes of a plugin as they are saved in plans.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "tenon/plugin/attributes.h"

namespace tenon {
namespace kit {

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
      } else if constexpr (std::is_same_v<V, nvinfer1::Dims>) {
        const auto rank = static_cast<size_t>(value.nbDims);
        add(a.name, PluginFieldType::kINT64, rank, value.d, rank * sizeof(int64_t));
      } else if constexpr (std::is_enum_v<V> || std::is_same_v<V, bool>) {
        const auto number = static_cast<int32_t>(value);
        add(a.name, field_type<V>(), 1, &number, sizeof(number));
      } else {
        add(a.name, field_type<V>(), 1, &value, sizeof(value));
      }
    });
    seal();
  }
  /// One more, after the attributes.
  void add_number(const char* name, int32_t value) {
    add(name, PluginFieldType::kINT32, 1, &value, sizeof(value));
    seal();
  }
  int32_t number(size_t i) const {
    int32_t value = 0;
    if (i < values_.size() && values_[i].size() == sizeof(value))
      std::memcpy(&value, values_[i].data(), sizeof(value));
    return value;
  }

  /// Reads bytes() back; `names` are those of the fields. Throws std::invalid_argument when the
  /// bytes do not fit them.
  static StoredAttributes from_bytes(const std::vector<const char*>& names, const void* data,
                                     size_t size) {
    StoredAttributes stored;
    size_t at = 0;
    const auto take = [&](void* to, size_t count) {
      if (count > size - at) throw std::invalid_argument("the serialized attributes end too early");
      if (count > 0) std::memcpy(to, static_cast<const char*>(data) + at, count);
      at += count;
    };
    for (const char* name : names) {
      int32_t header[3] = {};
      take(header, sizeof(header));
      const auto damaged = [&] {
        return std::invalid_argument("the serialized attribute " + std::string(name)
                                     + " is damaged");
      };
      if (header[1] < 0 || header[2] < 0 || static_cast<size_t>(header[2]) > size - at)
        throw damaged();
      std::string value(static_cast<size_t>(header[2]), '\0');
      take(value.data(), value.size());
      const auto type = static_cast<PluginFieldType>(header[0]);
      const size_t unit = bytes_of(type);
      if (unit == 0 || value.size() != unit * static_cast<size_t>(header[1])) throw damaged();
      stored.add(name, type, static_cast<size_t>(header[1]), value.data(), value.size());
    }
    if (at != size) throw std::invalid_argument("the serialized attributes are too long");
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
  void add(const char* name, PluginFieldType type, size_t length, const void* data, size_t bytes) {
    values_.emplace_back(static_cast<const char*>(data), bytes);
    fields_.emplace_back(name, nullptr, type, static_cast<int32_t>(length));
  }
  // Strings are in their place now, so that they can be pointed at. Never at null: an empty list is
  // not a missing one.
  void seal() {
    for (size_t i = 0; i < fields_.size(); ++i) fields_[i].data = values_[i].data();
    collection_ = {static_cast<int32_t>(fields_.size()), fields_.data()};
  }

  std::vector<std::string> values_;
  std::vector<PluginField> fields_;
  PluginFieldCollection collection_{0, nullptr};
};

}  // namespace kit
}  // namespace tenon
