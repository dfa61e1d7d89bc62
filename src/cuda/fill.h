// Filled tensors as their .cu file has them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tenon::cuda {

/// A number that is known, or an element in the device's memory.
struct FillNumber {
  const void* data;  // null: the value
  double real;
  int64_t integer;
};

/// start + sum over the axes of coordinate * step. `type` is a DataType, also of numbers in memory.
struct EvenSpacing {
  void* target;
  int32_t type;
  int64_t count;
  int axes;
  int64_t extents[8];
  FillNumber start;
  FillNumber step;  // of one axis; in memory, of all axes
};
void launch_even_spacing(const EvenSpacing& spacing, cudaStream_t stream);

/// The numbers that ops/fill.h defines; uniform in [alpha, beta), or normal with mean alpha and
/// deviation beta.
struct RandomNumbers {
  void* target;
  int32_t type;
  int64_t count;
  FillNumber alpha, beta;
  bool is_uniform;
  uint64_t seed;
};
void launch_random(const RandomNumbers& numbers, cudaStream_t stream);

/// outer x depth x inner elements: on where an index, counted from the end if it is negative, is
/// that of the middle axis.
struct OneHotVectors {
  const void* indices;  // int32, or int64 if is_wide; outer x inner
  bool is_wide;
  const void* values;  // off, on
  void* target;
  int64_t bytes;  // of an element
  int64_t outer, depth, inner;
};
void launch_one_hot(const OneHotVectors& vectors, cudaStream_t stream);

}  // namespace tenon::cuda
