// Convolutions of each channel with a window of its own, the channels last.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"
#include "cuda/quantized_epilogue.h"
#include "cuda/simple_epilogue.h"

namespace tenon::cuda {

struct DepthwiseParameters {
  /// Channels that a thread reads at once; it makes 1, 2 or 4 neighbouring elements of them.
  static constexpr int kPack = 4;
  DataType type = DataType::kFLOAT;  // of all tensors: float, half, bfloat16
  const void* data = nullptr;
  const void* weights = nullptr;  // (rows, columns, channels)
  const void* bias = nullptr;     // null: none
  void* result = nullptr;
  int64_t images = 0, channels = 0;  // channels: a multiple of kPack
  int in[2] = {}, out[2] = {}, pre[2] = {};
  int kernel = 3, stride = 1;  // 3 or 5, 1 or 2; the same along both axes
  int at_once = 1;
  SimpleEpilogue epilogue;  // which adds nothing
};

/// Of bytes: `type` is int8 or uint8, weights are int8 less their zero points, and the bias is
/// int32. The other epilogue is not used.
struct IntegerDepthwiseParameters {
  DepthwiseParameters plane;
  const void* data_zero = nullptr;  // one byte
  QuantizedEpilogue epilogue;
};

/// Not for empty results.
void launch_depthwise(const DepthwiseParameters& p, cudaStream_t stream);
void launch_integer_depthwise(const IntegerDepthwiseParameters& p, cudaStream_t stream);

}  // namespace tenon::cuda
