// Convolution of bytes by plain sums in 32 bits.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"
#include "cuda/convolution/window_axes.h"

namespace tenon::cuda {

/// Tensors in rows.
struct IntegerConvolutionParameters {
  /// One element, or one for each output channel.
  struct List {
    const void* data = nullptr;  // null: all are the default
    int64_t step = 0;            // 0 or 1
  };
  bool data_is_signed = true, weights_are_signed = true;
  const void* data = nullptr;
  const void* weights = nullptr;
  List data_zero, weights_zero;    // bytes; 0
  List bias;                       // int32; 0
  List scale, shift;               // float; 1 and 0
  List result_zero;                // of the result's type; 0
  DataType to = DataType::kINT32;  // int32, float, int8, uint8
  void* result = nullptr;
  int64_t images = 0, groups = 1, depth = 0,
          output_channels = 0;  // depth and output channels of one group
  WindowAxes axes;
};

/// Not for empty results.
void launch_integer_convolution(const IntegerConvolutionParameters& p, cudaStream_t stream);

}  // namespace tenon::cuda
