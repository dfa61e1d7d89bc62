// A layer's quantization as kernels have it.
#pragma once

#include "cuda/byte_quantization.h"
#include "ops/support/quantized_bytes.h"

namespace tenon::cuda {

inline ByteQuantization byte_quantization(const QuantizedBytes& bytes) {
  const IntegerRange range = bytes.bounds.of(bytes.to);
  return {bytes.scale, static_cast<float>(range.lowest - bytes.zero),
          static_cast<float>(range.highest - bytes.zero), bytes.zero};
}

}  // namespace tenon::cuda
