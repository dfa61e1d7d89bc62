/// The order of radix sorts: stable, by the bits of keys.
#pragma once
#pragma GCC system_header

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

namespace cub::sorting {

/// Bits that compare as the keys do. All zeroes are one, and NaNs are beyond infinities.
template <class K> std::uint64_t bits_of(K key) {
  std::uint64_t bits = 0;
  if constexpr (std::is_integral_v<K> || std::is_enum_v<K>) {
    std::memcpy(&bits, &key, sizeof(K));
  } else if (static_cast<double>(key) != 0) {
    std::memcpy(&bits, &key, sizeof(K));
  }
  constexpr std::uint64_t sign = std::uint64_t{1} << (sizeof(K) * 8 - 1);
  constexpr std::uint64_t all = sign | (sign - 1);
  if constexpr (std::is_unsigned_v<K>) return bits;
  if constexpr (std::is_integral_v<K>) return bits ^ sign;
  return bits & sign ? ~bits & all : bits | sign;
}

/// The places of keys [0, count) in their order, by bits [begin, end).
template <class K>
std::vector<std::size_t> order_of(const K* keys, std::size_t count, bool is_descending, int begin,
                                  int end) {
  std::vector<std::uint64_t> bits(count);
  const std::uint64_t mask =
      end - begin >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (end - begin)) - 1;
  for (std::size_t i = 0; i < count; ++i) bits[i] = bits_of(keys[i]) >> begin & mask;
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return is_descending ? bits[b] < bits[a] : bits[a] < bits[b];
  });
  return order;
}

/// Sorts keys, and values with them unless they are null. Out may be in.
template <class K, class V>
void sort(const K* keys, K* keys_out, const V* values, V* values_out, std::size_t count,
          bool is_descending, int begin, int end) {
  const std::vector<std::size_t> order = order_of(keys, count, is_descending, begin, end);
  std::vector<K> sorted(count);
  for (std::size_t i = 0; i < count; ++i) sorted[i] = keys[order[i]];
  std::copy(sorted.begin(), sorted.end(), keys_out);
  if constexpr (!std::is_void_v<V>) {
    if (!values) return;
    std::vector<V> moved(count);
    for (std::size_t i = 0; i < count; ++i) moved[i] = values[order[i]];
    std::copy(moved.begin(), moved.end(), values_out);
  }
}

}  // namespace cub::sorting
