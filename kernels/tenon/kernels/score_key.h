/// Candidates in the order of their scores, as integers.
#pragma once

#include <tenon/plugin/device.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace tenon::kernels::inline TENON_TARGET {

/// A score and what it belongs to, in one integer. The better one is smaller; of equal scores it is
/// the one of the lower index. Zeros of both signs are equal; a NaN has no key.
struct ScoreKey {
  uint64_t bits;

  static ScoreKey of(float score, uint32_t index) {
    const auto raw = std::bit_cast<uint32_t>(score + 0.0f);  // -0 becomes 0
    return {uint64_t{raw >> 31 != 0 ? raw : ~(raw | 0x80000000u)} << 32 | index};
  }
  uint32_t index() const { return static_cast<uint32_t>(bits); }
  float score() const {
    const auto order = static_cast<uint32_t>(bits >> 32);
    return std::bit_cast<float>(order >> 31 != 0 ? order : ~order & 0x7fffffffu);
  }
  friend bool operator<(ScoreKey a, ScoreKey b) { return a.bits < b.bits; }
};

/// Sorts keys of ascending indices; `room` holds as many. Returns where the sorted ones are.
inline ScoreKey* sort_keys(ScoreKey* keys, ScoreKey* room, int64_t count) {
  constexpr int64_t kFew = 256;
  if (count <= kFew) {
    std::sort(keys, keys + count);
    return keys;
  }
  // The scores' bits from the lowest digit on; the order of indices stays.
  constexpr int kBits = 11, kDigits = 3, kValues = 1 << kBits;
  uint32_t starts[kDigits][kValues] = {};
  const auto digit = [](ScoreKey key, int d) {
    return key.bits >> (32 + kBits * d) & (kValues - 1);
  };
  for (int64_t i = 0; i < count; ++i)
    for (int d = 0; d < kDigits; ++d) ++starts[d][digit(keys[i], d)];
  for (int d = 0; d < kDigits; ++d) {
    uint32_t* start = starts[d];
    if (start[digit(keys[0], d)] == count) continue;  // all the same
    uint32_t sum = 0;
    for (int v = 0; v < kValues; ++v) sum += std::exchange(start[v], sum);
    for (int64_t i = 0; i < count; ++i) room[start[digit(keys[i], d)]++] = keys[i];
    std::swap(keys, room);
  }
  return keys;
}

}  // namespace tenon::kernels::inline TENON_TARGET
