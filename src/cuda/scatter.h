// Scattered updates as their .cu file has them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/sort.h"

namespace tenon::cuda {

/// Finds the block of the target that each update goes to. `none` where an index is outside of the
/// target: a device cannot report it without a wait, and the update is left out.
struct ScatterPositions {
  const void* indices;  // int32, or int64 if is_wide
  bool is_wide;
  int64_t count;  // updates
  uint64_t none;  // as many as there are blocks
  uint64_t* positions;
};
/// Tuples of `width` indices.
struct ScatterTuples {
  int width;
  int64_t extents[8];
};
void launch_positions(const ScatterPositions& p, const ScatterTuples& tuples, cudaStream_t stream);
/// Each index replaces one coordinate of its own position, that of axis `axis`.
struct ScatterElements {
  int axis, axes;
  int64_t extents[8];  // of the indices
  int64_t steps[8];    // of the target
  int64_t extent;      // of the target's axis
};
void launch_positions(const ScatterPositions& p, const ScatterElements& elements,
                      cudaStream_t stream);

/// Blocks of `words` words that replace others; of those for one position, the last one.
struct ScatteredBlocks {
  const void* updates;
  void* target;
  int64_t word, words;  // bytes of a word; words of a block
  uint32_t* last;       // for each position
};
void launch_replacements(const ScatterPositions& p, const ScatteredBlocks& blocks,
                         cudaStream_t stream);

/// Blocks of elements that are combined with what is there, in the order of the updates.
struct CombinedBlocks {
  const void* updates;
  void* target;
  int64_t elements;   // of a block
  int32_t type;       // a DataType
  int32_t reduction;  // a kernels::Reduction
};
/// `pairs` has the positions as keys.
void launch_combination(const ScatterPositions& p, const CombinedBlocks& blocks, SortedPairs pairs,
                        void* scratch, size_t scratch_bytes, cudaStream_t stream);

}  // namespace tenon::cuda
