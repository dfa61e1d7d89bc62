// Zeros around the spatial axes of a tensor.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tenon::cuda {

/// Axes in the order of memory, the outermost first; the result has `pre` zeros before the data's
/// elements along each, and as many behind as its extents leave.
struct PadParameters {
  static constexpr int kAxes = 5;
  const void* in = nullptr;
  void* out = nullptr;
  int64_t from[kAxes] = {}, to[kAxes] = {}, pre[kAxes] = {};
  int64_t bytes = 0;  // of an element: 2 or 4
};

/// Not for empty results.
void launch_pad(const PadParameters& p, cudaStream_t stream);

}  // namespace tenon::cuda
