// Pooling on the device, and the mean or maximum of whole planes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"
#include "cuda/convolution/window_axes.h"

namespace tenon::cuda {

/// What averages are divided by.
enum class PoolingCount : uint8_t { kElements, kElementsAndPadding, kTaps };

struct PoolingParameters {
  DataType type = DataType::kFLOAT;  // float, half, bfloat16; for maxima also int8 and uint8
  const void* in = nullptr;
  void* out = nullptr;
  int64_t* indices = nullptr;  // of maxima, in the whole data; null: not wanted. Not channels last
  bool columns_first = false;  // how indices are counted
  bool is_max = true, is_average = false;  // both: (1 - blend) * maximum + blend * average
  float blend = 0;
  PoolingCount count = PoolingCount::kElements;
  bool channels_last = false;
  int64_t images = 0, channels = 0;
  WindowAxes axes;
};

/// Not for empty results.
void launch_pooling(const PoolingParameters& p, cudaStream_t stream);
/// The same for maxima of bytes in square windows, the channels last; false for others.
bool launch_byte_maxima(const PoolingParameters& p, cudaStream_t stream);

/// One number for each image and channel: the maximum of its elements, or their sum by `divisor`.
struct PlaneParameters {
  DataType type = DataType::kFLOAT;  // float, half, bfloat16
  const void* in = nullptr;
  void* out = nullptr;
  bool is_max = false, channels_last = false;
  int64_t images = 0, channels = 0, positions = 0;
  float divisor = 1;
};

/// Not for empty results.
void launch_planes(const PlaneParameters& p, cudaStream_t stream);

}  // namespace tenon::cuda
