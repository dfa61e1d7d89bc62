// A layer's quantization as kernels have it.
#pragma once

#include "base/low_precision.h"
#include "cuda/byte_quantization.h"
#include "ops/support/quantized_bytes.h"

namespace tenon::cuda {

inline ByteQuantization byte_quantization(const QuantizedBytes& bytes) {
  if (bytes.to == DataType::kFP8) return {bytes.scale, -kLargestFloat8, kLargestFloat8, 0, true};
  const IntegerRange range = bytes.bounds.of(bytes.to);
  return {bytes.scale, static_cast<float>(range.lowest - bytes.zero),
          static_cast<float>(range.highest - bytes.zero), bytes.zero};
}

}  // namespace tenon::cuda
