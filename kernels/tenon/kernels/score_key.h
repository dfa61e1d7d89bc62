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

  TENON_HD static ScoreKey of(float score, uint32_t index) {
    const auto raw = std::bit_cast<uint32_t>(score + 0.0f);  // -0 becomes 0
    return {uint64_t{raw >> 31 != 0 ? raw : ~(raw | 0x80000000u)} << 32 | index};
  }
  /// Comes after all others.
  TENON_HD static ScoreKey none() { return {~uint64_t{0}}; }
  TENON_HD bool is_none() const { return bits == none().bits; }
  TENON_HD uint32_t index() const { return static_cast<uint32_t>(bits); }
  TENON_HD float score() const {
    const auto order = static_cast<uint32_t>(bits >> 32);
    return std::bit_cast<float>(order >> 31 != 0 ? order : ~order & 0x7fffffffu);
  }
  TENON_HD friend bool operator<(ScoreKey a, ScoreKey b) { return a.bits < b.bits; }
};

#if !defined(__CUDACC__)

/// Sorts keys of ascending indices; `workspace` holds as many. Returns where the sorted ones are.
inline ScoreKey* sort_keys(ScoreKey* keys, ScoreKey* scratch, int64_t count) {
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
    for (int64_t i = 0; i < count; ++i) scratch[start[digit(keys[i], d)]++] = keys[i];
    std::swap(keys, scratch);
  }
  return keys;
}

#else

/// A bitonic sort in place. What would lie behind the keys is larger than they are, and stays
/// there.
__device__ inline void sort_keys(const kit::Team& team, ScoreKey* keys, int64_t count) {
  const int64_t size = kit::sort_stride(count);
  const auto order = [&](int64_t i, int64_t j) {
    if (j <= i || j >= count || keys[i] < keys[j]) return;
    const ScoreKey larger = keys[i];
    keys[i] = keys[j];
    keys[j] = larger;
  };
  __syncthreads();
  for (int64_t run = 2; run <= size; run *= 2) {
    team.each(count, [&](int64_t i) { order(i, i ^ (run - 1)); });
    __syncthreads();
    for (int64_t distance = run / 4; distance > 0; distance /= 2) {
      team.each(count, [&](int64_t i) { order(i, i ^ distance); });
      __syncthreads();
    }
  }
}

#endif

}  // namespace tenon::kernels::inline TENON_TARGET
