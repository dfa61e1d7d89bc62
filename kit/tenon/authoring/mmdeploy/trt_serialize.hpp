/// Values to bytes and back, as MMDeploy's plugins do it: numbers, enumerations, structs without
/// pointers, vectors of these, and C strings. A vector has its count (size_t) before its elements,
/// a string its terminator after it.
///
/// Reading moves `*buffer` behind the value and takes its bytes off `*buffer_size`. Where bytes are
/// missing it throws std::out_of_range; from a noexcept function that ends the program.
#pragma once

#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace tenon::mmdeploy {

template <class T> constexpr bool kIsText = false;
template <> inline constexpr bool kIsText<const char*> = true;
template <> inline constexpr bool kIsText<char*> = true;
template <size_t n> inline constexpr bool kIsText<char[n]> = true;

inline void put(void** buffer, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(*buffer, from, bytes);
  *buffer = static_cast<char*>(*buffer) + bytes;
}

/// The place of the next bytes.
inline const char* take(const void** buffer, size_t* left, size_t bytes) {
  if (bytes > *left) throw std::out_of_range("a plugin's saved bytes end too early");
  const auto* at = static_cast<const char*>(*buffer);
  *buffer = at + bytes;
  *left -= bytes;
  return at;
}

}  // namespace tenon::mmdeploy

template <class T> size_t serialized_size(const T& value) {
  if constexpr (tenon::mmdeploy::kIsText<T>)
    return std::strlen(value) + 1;
  else
    return sizeof(T);
}
template <class E> size_t serialized_size(const std::vector<E>& value) {
  return sizeof(size_t) + value.size() * sizeof(E);
}

template <class T> void serialize_value(void** buffer, const T& value) {
  if constexpr (tenon::mmdeploy::kIsText<T>) {
    tenon::mmdeploy::put(buffer, value, serialized_size(value));
  } else {
    static_assert(std::is_trivially_copyable_v<T>, "only plain values have bytes to save");
    tenon::mmdeploy::put(buffer, &value, sizeof(T));
  }
}
template <class E> void serialize_value(void** buffer, const std::vector<E>& value) {
  static_assert(std::is_trivially_copyable_v<E>, "only plain values have bytes to save");
  serialize_value(buffer, value.size());
  tenon::mmdeploy::put(buffer, value.data(), value.size() * sizeof(E));
}

/// A `const char*` then points into the buffer.
template <class T> void deserialize_value(const void** buffer, size_t* buffer_size, T* value) {
  if constexpr (std::is_same_v<T, const char*>) {
    const size_t length = strnlen(static_cast<const char*>(*buffer), *buffer_size);
    *value = tenon::mmdeploy::take(buffer, buffer_size, length + 1);
  } else {
    static_assert(std::is_trivially_copyable_v<T>, "only plain values have bytes to save");
    std::memcpy(value, tenon::mmdeploy::take(buffer, buffer_size, sizeof(T)), sizeof(T));
  }
}
template <class E>
void deserialize_value(const void** buffer, size_t* buffer_size, std::vector<E>* value) {
  static_assert(std::is_trivially_copyable_v<E>, "only plain values have bytes to save");
  size_t count = 0;
  deserialize_value(buffer, buffer_size, &count);
  if (count > *buffer_size / sizeof(E))
    throw std::out_of_range("a plugin's saved bytes end too early");
  value->resize(count);
  const char* from = tenon::mmdeploy::take(buffer, buffer_size, count * sizeof(E));
  if (count > 0) std::memcpy(value->data(), from, count * sizeof(E));
}
