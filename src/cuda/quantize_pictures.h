// Quantize of pictures of few channels, whose bytes lie with the channels last.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"

namespace tenon::cuda {

struct PictureQuantization {
  DataType type = DataType::kFLOAT;        // of the pictures: float, half or bfloat16
  const void* in = nullptr;                // (images, channels, positions)
  void* out = nullptr;                     // (images, positions, channels), int8 or uint8
  DataType scale_type = DataType::kFLOAT;  // float, half or bfloat16
  const void* scale = nullptr;             // one number
  const void* zero = nullptr;              // one byte of the result's type; null: 0
  bool is_signed = true;
  int lowest = -128, highest = 127;  // of the results
  int64_t images = 0, positions = 0;
  int channels = 3;  // 2 to 4
};

/// Not for empty pictures.
void launch_picture_quantization(const PictureQuantization& p, cudaStream_t stream);

}  // namespace tenon::cuda
