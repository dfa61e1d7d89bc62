/// What the lanes of a warp exchange. CUDA alone.
#pragma once

#if defined(__CUDACC__)

#include <tenon/plugin/device.h>

#include <cstring>

namespace tenon::kernels::inline TENON_TARGET {

inline constexpr unsigned kAllLanes = 0xffffffffu;
inline constexpr int kWarp = 32;

/// exchange(word) for each of the words that a trivially copyable value has.
template <class V, class F> __device__ V by_words(V value, const F& exchange) {
  constexpr int kWords = (sizeof(V) + 3) / 4;
  int words[kWords] = {};
  memcpy(words, &value, sizeof(V));
#pragma unroll
  for (int& word : words) word = exchange(word);
  memcpy(&value, words, sizeof(V));
  return value;
}

/// The value of the lane `distance` below; its own where there is none.
template <class V> __device__ V from_below(V value, int distance) {
  return by_words(value, [=](int word) { return __shfl_up_sync(kAllLanes, word, distance); });
}
template <class V> __device__ V from_lane(V value, int lane) {
  return by_words(value, [=](int word) { return __shfl_sync(kAllLanes, word, lane); });
}

/// Each lane gets combine(...combine(lane 0, lane 1)..., itself).
template <class V, class Combine> __device__ V warp_scan(V value, const Combine& combine) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const V before = from_below(value, distance);
    if (lane >= distance) value = combine(before, value);
  }
  return value;
}

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
