// Finding the elements that are not zero, as its .cu file has it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tenon::cuda {

constexpr int64_t kNonZeroChunk = 2048;  // elements whose count a block finds

struct NonZeroElements {
  const void* data;
  int32_t type;  // a DataType
  int64_t count;
  int64_t*
      begins;  // for each chunk, and one more: where its columns begin, the last one their count

  constexpr int64_t chunks() const { return (count + kNonZeroChunk - 1) / kNonZeroChunk; }
};

/// Leaves how many there are in begins[chunks()].
void launch_non_zero_count(const NonZeroElements& elements, cudaStream_t stream);

/// Rows of `columns` coordinates, one for each axis.
struct NonZeroIndices {
  void* target;  // int32, or int64 if is_wide
  bool is_wide;
  int axes;
  int64_t extents[8];
  int64_t columns;
};
void launch_non_zero_indices(const NonZeroElements& elements, const NonZeroIndices& indices,
                             cudaStream_t stream);

}  // namespace tenon::cuda
