/// Barriers, shuffles and votes. What lanes do together meets at one place of the source.
#pragma once
#pragma GCC system_header

#include <cstring>

#include "tenon/hostcuda/wait.h"

inline constexpr int warpSize = 32;

namespace tenon::hostcuda {

inline int lane() {
  return static_cast<int>(thread_number() % 32);
}

template <class T> std::uint64_t to_word(T value) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  return word;
}
template <class T> T from_word(std::uint64_t word) {
  T value;
  std::memcpy(static_cast<void*>(&value), &word, sizeof(T));
  return value;
}

/// The value of lane `from`; the own one if that is out of the segment.
template <class T> T shuffle(unsigned mask, T value, int from, bool is_inside, Site site) {
  const Exchanged all = exchange(mask, to_word(value), site);
  return is_inside ? from_word<T>(all.values[from & 31]) : value;
}
inline int segment(int width) {
  return lane() & ~(width - 1);
}

/// combine() over the values of all lanes in the mask.
template <class T, class Combine>
T reduce_lanes(unsigned mask, T value, Combine combine, Site site) {
  const Exchanged all = exchange(mask, to_word(value), site);
  bool has = false;
  T result{};
  for (int i = 0; i < 32; ++i)
    if (all.lanes >> i & 1) {
      const T other = from_word<T>(all.values[i]);
      result = has ? combine(result, other) : other;
      has = true;
    }
  return result;
}

}  // namespace tenon::hostcuda

inline void __syncthreads(tenon::hostcuda::Site site = tenon::hostcuda::here()) {
  tenon::hostcuda::barrier(true, site);
}
inline int __syncthreads_and(int vote, tenon::hostcuda::Site site = tenon::hostcuda::here()) {
  return tenon::hostcuda::barrier(vote != 0, site).all;
}
inline int __syncthreads_or(int vote, tenon::hostcuda::Site site = tenon::hostcuda::here()) {
  return tenon::hostcuda::barrier(vote != 0, site).any;
}
inline int __syncthreads_count(int vote, tenon::hostcuda::Site site = tenon::hostcuda::here()) {
  return tenon::hostcuda::barrier(vote != 0, site).count;
}
inline void __syncwarp(unsigned mask = ~0u, tenon::hostcuda::Site site = tenon::hostcuda::here()) {
  tenon::hostcuda::exchange(mask, 0, site);
}
// Threads of a block take turns on one thread of the machine; blocks are on several. Compilers warn
// of C++'s own fence when ThreadSanitizer, which knows no fences, is on.
inline void __threadfence() {
  __sync_synchronize();
}
inline void __threadfence_block() {}
inline void __threadfence_system() {
  __sync_synchronize();
}

template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32,
              tenon::hostcuda::Site site = tenon::hostcuda::here()) {
  using namespace tenon::hostcuda;
  return shuffle(mask, value, segment(width) | (from & (width - 1)), true, site);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32,
                 tenon::hostcuda::Site site = tenon::hostcuda::here()) {
  using namespace tenon::hostcuda;
  const int from = lane() - static_cast<int>(distance);
  return shuffle(mask, value, from, from >= segment(width), site);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32,
                   tenon::hostcuda::Site site = tenon::hostcuda::here()) {
  using namespace tenon::hostcuda;
  const int from = lane() + static_cast<int>(distance);
  return shuffle(mask, value, from, from < segment(width) + width, site);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32,
                  tenon::hostcuda::Site site = tenon::hostcuda::here()) {
  using namespace tenon::hostcuda;
  const int from = lane() ^ bits;
  return shuffle(mask, value, from, from < segment(width) + width, site);
}

inline unsigned __ballot_sync(unsigned mask, int vote,
                              tenon::hostcuda::Site site = tenon::hostcuda::here()) {
  const tenon::hostcuda::Exchanged all = tenon::hostcuda::exchange(mask, vote != 0, site);
  unsigned votes = 0;
  for (int i = 0; i < 32; ++i)
    if (all.lanes >> i & 1) votes |= static_cast<unsigned>(all.values[i]) << i;
  return votes;
}
inline int __any_sync(unsigned mask, int vote,
                      tenon::hostcuda::Site site = tenon::hostcuda::here()) {
  return __ballot_sync(mask, vote, site) != 0;
}
inline int __all_sync(unsigned mask, int vote,
                      tenon::hostcuda::Site site = tenon::hostcuda::here()) {
  return __ballot_sync(mask, !vote, site) == 0;
}
inline unsigned __activemask() {
  return tenon::hostcuda::lanes_alive();
}
template <class T>
unsigned __match_any_sync(unsigned mask, T value,
                          tenon::hostcuda::Site site = tenon::hostcuda::here()) {
  using namespace tenon::hostcuda;
  const Exchanged all = exchange(mask, to_word(value), site);
  unsigned same = 0;
  for (int i = 0; i < 32; ++i)
    if (all.lanes >> i & 1 && all.values[i] == to_word(value)) same |= 1u << i;
  return same;
}
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* are_all,
                          tenon::hostcuda::Site site = tenon::hostcuda::here()) {
  using namespace tenon::hostcuda;
  const Exchanged all = exchange(mask, to_word(value), site);
  bool same = true;
  for (int i = 0; i < 32; ++i)
    if (all.lanes >> i & 1) same &= all.values[i] == to_word(value);
  *are_all = same;
  return same ? mask : 0;
}

#define TENON_REDUCE(name, type, expression)                                                 \
  inline type __reduce_##name##_sync(unsigned mask, type value,                              \
                                     tenon::hostcuda::Site site = tenon::hostcuda::here()) { \
    return tenon::hostcuda::reduce_lanes(                                                    \
        mask, value, [](type a, type b) -> type { return expression; }, site);               \
  }
TENON_REDUCE(add, unsigned, a + b)
TENON_REDUCE(min, unsigned, a < b ? a : b)
TENON_REDUCE(max, unsigned, a < b ? b : a)
TENON_REDUCE(and, unsigned, a& b)
TENON_REDUCE(or, unsigned, a | b)
TENON_REDUCE(xor, unsigned, a ^ b)
TENON_REDUCE(add, int, static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
TENON_REDUCE(min, int, a < b ? a : b)
TENON_REDUCE(max, int, a < b ? b : a)
#undef TENON_REDUCE
