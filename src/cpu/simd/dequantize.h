// Weights of 4 and 8 bits as floats, for the loops that multiply vectors of output channels.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstdint>
#include <iterator>

#include "cpu/simd/block_lanes.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

typedef int32_t IntegerLanes __attribute__((vector_size(kBlockLanes * 4)));

// By instructions that compilers do not find in a conversion of vectors from memory.
inline IntegerLanes load_bytes(const uint8_t* from) {
#if defined(__AVX512F__)
  return reinterpret_cast<IntegerLanes>(
      _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#elif defined(__AVX2__)
  return reinterpret_cast<IntegerLanes>(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#else
  IntegerLanes lanes;
  for (int i = 0; i < kBlockLanes; ++i) lanes[i] = from[i];
  return lanes;
#endif
}

// (x - zero) * scale, which rounds once, as the reference does.
inline void store_dequantized(IntegerLanes x, BlockLanes scale, BlockLanes zero, float* to) {
  store_lanes(to, (__builtin_convertvector(x, BlockLanes) - zero) * scale);
}

void dequantize_nibbles(const QuantizedGroup& group, int64_t width, float* to) {
  for (int64_t lane = 0; lane < width; lane += kBlockLanes) {
    const BlockLanes s = load_lanes(group.scale + lane), z = load_lanes(group.zero + lane);
    const uint8_t* from = group.packed + lane;
    float* out = to + lane;
    for (int64_t k = 0; k < group.rows; k += 2, from += width, out += 2 * width) {
      const IntegerLanes both = load_bytes(from);
      store_dequantized(both & 15, s, z, out);
      if (k + 1 < group.rows) store_dequantized(both >> 4, s, z, out + width);
    }
  }
}

void dequantize_bytes(const QuantizedGroup& group, int64_t width, float* to) {
  for (int64_t lane = 0; lane < width; lane += kBlockLanes) {
    const BlockLanes s = load_lanes(group.scale + lane), z = load_lanes(group.zero + lane);
    for (int64_t k = 0; k < group.rows; ++k)
      store_dequantized(load_bytes(group.packed + k * width + lane), s, z, to + k * width + lane);
  }
}

// Sums of R rows for V vectors of output channels; elements of even and odd rows of the weights are
// summed apart, or each sum would wait for the one before. Zero points are taken off before: sums
// without would be far larger than their difference, and of infinite data no difference is left.
template <int R, int V, bool IsNibble>
void multiply_group(const QuantizedGroup& group, const float* x, int64_t x_step, float* sums) {
  constexpr int64_t kWidth = V * kBlockLanes;
  BlockLanes even[R][V] = {}, odd[R][V] = {}, zeros[V];
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) zeros[v] = load_lanes(group.zero + v * kBlockLanes);
  const uint8_t* from = group.packed;
  const auto add = [&](const IntegerLanes(&integers)[V], int64_t k,
                       BlockLanes(&to)[R][V]) __attribute__((always_inline)) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      const BlockLanes weights = __builtin_convertvector(integers[v], BlockLanes) - zeros[v];
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) to[r][v] += x[r * x_step + k] * weights;
    }
  };
  for (int64_t k = 0; k < group.rows; k += 2) {
    IntegerLanes first[V], second[V];
    const bool has_second = k + 1 < group.rows;
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      first[v] = load_bytes(from + v * kBlockLanes);
      if constexpr (IsNibble) {
        second[v] = first[v] >> 4;
        first[v] &= 15;
      } else if (has_second) {
        second[v] = load_bytes(from + kWidth + v * kBlockLanes);
      }
    }
    from += IsNibble ? kWidth : 2 * kWidth;
    add(first, k, even);
    if (has_second) add(second, k + 1, odd);
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      float* const to = sums + (r * V + v) * kBlockLanes;
      const BlockLanes scale = load_lanes(group.scale + v * kBlockLanes);
      store_lanes(to, load_lanes(to) + (even[r][v] + odd[r][v]) * scale);
    }
}

template <bool IsNibble>
void multiply_quantized(const QuantizedGroup& group, const float* x, int64_t x_step, int64_t rows,
                        int64_t vectors, float* sums) {
  static constexpr decltype(&multiply_group<1, 1, IsNibble>) loops[][2] = {
      {multiply_group<1, 1, IsNibble>, multiply_group<1, 2, IsNibble>},
      {multiply_group<2, 1, IsNibble>, multiply_group<2, 2, IsNibble>},
      {multiply_group<3, 1, IsNibble>, multiply_group<3, 2, IsNibble>},
      {multiply_group<4, 1, IsNibble>, multiply_group<4, 2, IsNibble>}};
  static_assert(std::size(loops) == kFewRows);
  loops[rows - 1][vectors - 1](group, x, x_step, sums);
}

}  // namespace
}  // namespace tenon::cpu
