// Convolution of bytes by plain sums in 32 bits.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/convolution/window_axes.h"
#include "cuda/quantized_epilogue.h"

namespace tenon::cuda {

/// Tensors in rows.
struct IntegerConvolutionParameters {
  using List = QuantizedEpilogue::List;
  bool data_is_signed = true, weights_are_signed = true;
  const void* data = nullptr;
  const void* weights = nullptr;
  List data_zero, weights_zero, bias;  // bytes, bytes, int32; 0
  QuantizedEpilogue epilogue;
  void* result = nullptr;
  int64_t images = 0, groups = 1, depth = 0,
          output_channels = 0;  // depth and output channels of one group
  WindowAxes axes;
};

/// Not for empty results.
void launch_integer_convolution(const IntegerConvolutionParameters& p, cudaStream_t stream);

}  // namespace tenon::cuda
