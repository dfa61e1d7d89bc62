/// The order of many keys of integers, by a stable radix sort: equal keys stay as they come.
#pragma once

#include <tenon/plugin/device.h>

#include <algorithm>
#include <utility>

#include "tenon/kernels/workspace.h"

namespace tenon::kernels::inline TENON_TARGET {

#if !defined(__CUDACC__)
inline constexpr int kDigitBits = 8;
#else
inline constexpr int kDigitBits = 4;  // a team counts each of them
#endif

/// Memory of a sort of `count` keys.
struct KeyOrder {
  static constexpr int64_t kDigits = 1 << kDigitBits, kBlock = 1024;  // keys of a team

  int64_t count;
  int32_t *order, *other;  // a permutation: which key comes where
  int32_t* starts;         // (kDigits, blocks)

  KeyOrder(Carver& carver, int64_t count)
      : count(count),
        order(carver.array<int32_t>(count)),
        other(carver.array<int32_t>(count)),
        starts(carver.array<int32_t>(kDigits * blocks())) {}

  TENON_HD int64_t blocks() const { return (count + kBlock - 1) / kBlock; }
  TENON_HD int64_t keys_of_block(int64_t block) const {
    const int64_t left = count - block * kBlock;
    return left < kBlock ? left : kBlock;
  }
};

struct Identity {
  int32_t* order;
  TENON_HD void operator()(int64_t i) const { order[i] = static_cast<int32_t>(i); }
};

#if !defined(__CUDACC__)

/// memory.order becomes the order of `key(i)` for i from 0, of which the lower `bits` count.
template <class Key>
void order_keys(const kit::Device& device, KeyOrder& memory, int bits, const Key& key) {
  device.parallel_for(memory.count, Identity{memory.order});
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    int64_t starts[KeyOrder::kDigits] = {};
    const auto digit = [&](int32_t i) {
      return static_cast<uint64_t>(key(i)) >> shift & (KeyOrder::kDigits - 1);
    };
    for (int64_t i = 0; i < memory.count; ++i) ++starts[digit(static_cast<int32_t>(i))];
    if (memory.count == 0 || starts[digit(0)] == memory.count) continue;
    int64_t before = 0;
    for (int64_t& start : starts) before += std::exchange(start, before);
    for (int64_t i = 0; i < memory.count; ++i)
      memory.other[starts[digit(memory.order[i])]++] = memory.order[i];
    std::swap(memory.order, memory.other);
  }
}

#else

template <class Key> struct DigitOf {
  KeyOrder memory;
  Key key;
  int shift;

  __device__ int64_t operator()(int64_t i) const {
    return static_cast<int64_t>(static_cast<uint64_t>(key(memory.order[i])) >> shift
                                & (KeyOrder::kDigits - 1));
  }
};

template <class Key> struct CountDigits {
  DigitOf<Key> digit;

  __device__ void operator()(const kit::Team& team, int64_t block) const {
    const int64_t first = block * KeyOrder::kBlock, keys = digit.memory.keys_of_block(block);
    for (int64_t d = 0; d < KeyOrder::kDigits; ++d) {
      const int32_t count = team.reduce(
          keys, int32_t{0}, [](int32_t a, int32_t b) { return a + b; },
          [&](int64_t i) { return static_cast<int32_t>(digit(first + i) == d); });
      team.each(1,
                [&](int64_t) { digit.memory.starts[d * digit.memory.blocks() + block] = count; });
    }
  }
};

struct SumDigits {
  int32_t* starts;
  int64_t count;

  __device__ void operator()(const kit::Team& team, int64_t) const {
    team.scan(
        count, int32_t{0}, [](int32_t a, int32_t b) { return a + b; },
        [&](int64_t i) { return starts[i]; },
        [&](int64_t i, int32_t so_far) { starts[i] = so_far - starts[i]; });
  }
};

template <class Key> struct MoveDigits {
  DigitOf<Key> digit;

  __device__ void operator()(const kit::Team& team, int64_t block) const {
    const int64_t first = block * KeyOrder::kBlock, keys = digit.memory.keys_of_block(block);
    for (int64_t d = 0; d < KeyOrder::kDigits; ++d) {
      const int32_t start = digit.memory.starts[d * digit.memory.blocks() + block];
      team.scan(
          keys, int32_t{0}, [](int32_t a, int32_t b) { return a + b; },
          [&](int64_t i) { return static_cast<int32_t>(digit(first + i) == d); },
          [&](int64_t i, int32_t so_far) {
            if (digit(first + i) == d)
              digit.memory.other[start + so_far - 1] = digit.memory.order[first + i];
          });
    }
  }
};

template <class Key>
void order_keys(const kit::Device& device, KeyOrder& memory, int bits, const Key& key) {
  device.parallel_for(memory.count, Identity{memory.order});
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    const DigitOf<Key> digit{memory, key, shift};
    device.parallel_rows(memory.blocks(), CountDigits<Key>{digit});
    device.parallel_rows(1, SumDigits{memory.starts, KeyOrder::kDigits * memory.blocks()});
    device.parallel_rows(memory.blocks(), MoveDigits<Key>{digit});
    std::swap(memory.order, memory.other);
  }
}

#endif

}  // namespace tenon::kernels::inline TENON_TARGET
