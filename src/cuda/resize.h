// Resizing as its .cu file has it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tenon::cuda {

/// An element of the source and its share of a result.
struct ResizeTap {
  int32_t position;
  float weight;
};

/// An axis of the result: a whole one, whose elements are those of the source, or one with taps for
/// each position.
struct ResizedAxis {
  int64_t extent;  // of the result
  int64_t stride;  // words in the source
  int32_t taps;    // of each position, the last ones with weight 0; 0: whole
  const ResizeTap* table;
};

struct ResizeCall {
  const void* source;
  void* target;
  int axes;
  ResizedAxis axis[8];
};

/// One tap along each resized axis; words of 1, 2, 4, 8 or 16 bytes.
void launch_nearest(const ResizeCall& call, int64_t word, cudaStream_t stream);

/// Weighted sums of float32, float16 or bfloat16 (a DataType), in single precision, along at most
/// three axes; `vector` elements of the last axis, which then is whole, at a time.
void launch_interpolation(const ResizeCall& call, int32_t type, int vector, cudaStream_t stream);

}  // namespace tenon::cuda
