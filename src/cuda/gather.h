// Gather as its .cu file has it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tenon::cuda {

/// A copy of blocks of words, each from where indices say. Where an index is outside of the data,
/// the block is zeros: a device cannot report it without a wait.
struct GatheredBlocks {
  const void* data;
  const void* indices;  // int32, or int64 if is_wide
  bool is_wide;
  void* target;
  int64_t word;           // bytes: 1, 2, 4, 8 or 16
  int64_t blocks, words;  // how many, and words in each
};

/// Along an axis of `extent` blocks: block i is of entry i / picked of the axes before it.
struct GatherAlongAxis {
  int64_t extent, picked, outer_per_batch;
};
void launch_gather(const GatheredBlocks& blocks, const GatherAlongAxis& axis, cudaStream_t stream);

/// Tuples of `width` indices name blocks of an array with these extents; each batch has its own.
struct GatherTuples {
  int width;
  int64_t extents[8];
  int64_t tuples_per_batch;
};
void launch_gather(const GatheredBlocks& blocks, const GatherTuples& tuples, cudaStream_t stream);

/// Each index replaces one coordinate of its own position, that of axis `axis`.
struct GatherElements {
  int axis, axes;
  int64_t extents[8];  // of indices and target
  int64_t steps[8];    // of the data: blocks for a step along each axis
  int64_t extent;      // of the data's axis
};
void launch_gather(const GatheredBlocks& blocks, const GatherElements& elements,
                   cudaStream_t stream);

}  // namespace tenon::cuda
