/// A set of cells of a grid, a bit each, that numbers what is in it. It takes a seventh of a byte
/// for a cell, whatever is in it, and looks a cell up in one or two lines of memory.
#pragma once

#include <tenon/plugin/device.h>

#include "tenon/kernels/fill.h"
#include "tenon/kernels/workspace.h"

namespace tenon::kernels::inline TENON_TARGET {

TENON_HD inline int32_t count_of_bits(uint32_t word) {
#if defined(__CUDA_ARCH__)
  return __popc(word);
#else
  return __builtin_popcount(word);
#endif
}

/// Use: clear(), insert() from kernels, number(), then rank() from kernels.
struct CellSet {
  static constexpr int64_t kWordCells = 32, kGroupWords = 8, kGroupCells = 256, kBlockGroups = 512;
  static constexpr int64_t kMaxCells = int64_t{1} << 35;  // five GiB of workspace

  int64_t cells;
  uint32_t* words;
  int32_t* before_group;  // how many cells there are before each group of words
  int32_t* before_block;  // and before each block of groups

  CellSet(Carver& carver, int64_t cells)
      : cells(cells),
        words(carver.array<uint32_t>(groups() * kGroupWords)),
        before_group(carver.array<int32_t>(groups())),
        before_block(carver.array<int32_t>(blocks())) {}

  TENON_HD int64_t groups() const { return (cells + kGroupCells - 1) / kGroupCells; }
  TENON_HD int64_t blocks() const { return (groups() + kBlockGroups - 1) / kBlockGroups; }

  void clear(const kit::Device& device) const {
    fill(device, words, groups() * kGroupWords, uint32_t{0});
  }
  TENON_DEVICE void insert(int64_t cell) const {
    uint32_t* const word = words + cell / kWordCells;
    const uint32_t bit = 1u << (cell % kWordCells);
#if defined(__CUDACC__)
    atomicOr(word, bit);
#else
    if ((__atomic_load_n(word, __ATOMIC_RELAXED) & bit) == 0)
      __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
#endif
  }
  /// `count` becomes the number of cells in the set, where kernels read it.
  void number(const kit::Device& device, int32_t* count) const;

  /// How many cells of the set are before this one; -1 if it is not in the set.
  TENON_HD int64_t rank(int64_t cell) const {
    const int64_t word = cell / kWordCells;
    const uint32_t bit = 1u << (cell % kWordCells);
    if ((words[word] & bit) == 0) return -1;
    const int64_t group = cell / kGroupCells;
    int64_t rank = before_group[group] + count_of_bits(words[word] & (bit - 1));
    for (int64_t w = group * kGroupWords; w < word; ++w) rank += count_of_bits(words[w]);
    return rank;
  }
  TENON_HD int32_t size_of_group(int64_t group) const {
    int32_t size = 0;
    for (int64_t w = 0; w < kGroupWords; ++w) size += count_of_bits(words[group * kGroupWords + w]);
    return size;
  }
  TENON_HD int64_t groups_of_block(int64_t block) const {
    const int64_t left = groups() - block * kBlockGroups;
    return left < kBlockGroups ? left : kBlockGroups;
  }
};

struct AddCounts {
  TENON_HD int32_t operator()(int32_t a, int32_t b) const { return a + b; }
};

struct CountBlocks {
  CellSet set;

  TENON_DEVICE void operator()(const kit::Team& team, int64_t block) const {
    const int64_t first = block * CellSet::kBlockGroups;
    const int32_t size = team.reduce(set.groups_of_block(block), int32_t{0}, AddCounts(),
                                     [&](int64_t g) { return set.size_of_group(first + g); });
    team.each(1, [&](int64_t) { set.before_block[block] = size; });
  }
};

struct SumBlocks {
  CellSet set;
  int32_t* count;

  TENON_DEVICE void operator()(const kit::Team& team, int64_t) const {
    int32_t* const blocks = set.before_block;
    const int64_t n = set.blocks();
    team.scan(
        n, int32_t{0}, AddCounts(), [&](int64_t b) { return blocks[b]; },
        [&](int64_t b, int32_t so_far) {
          blocks[b] = so_far - blocks[b];
          if (b + 1 == n) *count = so_far;
        });
  }
};

struct NumberGroups {
  CellSet set;

  TENON_DEVICE void operator()(const kit::Team& team, int64_t block) const {
    const int64_t first = block * CellSet::kBlockGroups;
    const int32_t before = set.before_block[block];
    team.scan(
        set.groups_of_block(block), int32_t{0}, AddCounts(),
        [&](int64_t g) { return set.size_of_group(first + g); },
        [&](int64_t g, int32_t so_far) {
          set.before_group[first + g] = before + so_far - set.size_of_group(first + g);
        });
  }
};

inline void CellSet::number(const kit::Device& device, int32_t* count) const {
  device.parallel_rows(blocks(), CountBlocks{*this});
  device.parallel_rows(1, SumBlocks{*this, count});
  device.parallel_rows(blocks(), NumberGroups{*this});
}

}  // namespace tenon::kernels::inline TENON_TARGET
