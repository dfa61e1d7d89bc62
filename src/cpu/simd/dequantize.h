// Weights of 4 and 8 bits as floats, for the loops that multiply vectors of output channels.
#pragma once

#include <cstdint>

#include "cpu/simd/block_lanes.h"

namespace tenon::cpu {
namespace {

typedef uint8_t ByteLanes __attribute__((vector_size(kBlockLanes), aligned(1), may_alias));
typedef int32_t IntegerLanes __attribute__((vector_size(kBlockLanes * 4)));

// (x - zero) * scale, which rounds once, as the reference does.
inline void store_dequantized(ByteLanes x, BlockLanes scale, BlockLanes zero, float* to) {
  const BlockLanes number = __builtin_convertvector(__builtin_convertvector(x, IntegerLanes),
                                                    BlockLanes);
  store_lanes(to, (number - zero) * scale);
}

void dequantize_nibbles(const uint8_t* packed, const float* scale, const float* zero, int64_t rows,
                        int64_t width, float* to) {
  for (int64_t lane = 0; lane < width; lane += kBlockLanes) {
    const BlockLanes s = load_lanes(scale + lane), z = load_lanes(zero + lane);
    const uint8_t* from = packed + lane;
    float* out = to + lane;
    for (int64_t k = 0; k < rows; k += 2, from += width, out += 2 * width) {
      const ByteLanes both = *reinterpret_cast<const ByteLanes*>(from);
      store_dequantized(both & 15, s, z, out);
      if (k + 1 < rows) store_dequantized(both >> 4, s, z, out + width);
    }
  }
}

void dequantize_bytes(const uint8_t* packed, const float* scale, const float* zero, int64_t rows,
                      int64_t width, float* to) {
  for (int64_t lane = 0; lane < width; lane += kBlockLanes) {
    const BlockLanes s = load_lanes(scale + lane), z = load_lanes(zero + lane);
    for (int64_t k = 0; k < rows; ++k)
      store_dequantized(*reinterpret_cast<const ByteLanes*>(packed + k * width + lane), s, z,
                        to + k * width + lane);
  }
}

}  // namespace
}  // namespace tenon::cpu
