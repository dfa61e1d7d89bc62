// Sums of shifted rows for a few results at a time: what a convolution of few output channels is.
#pragma once

#include "cpu/simd/product.h"

namespace tenon::cpu {
namespace {

#if defined(__AVX512F__)
constexpr int kSums = 24;  // vectors of sums that the registers hold
#elif defined(__AVX2__)
constexpr int kSums = 12;
#else
constexpr int kSums = 8;
#endif

// R results, V vectors of elements, of which `n` are wanted.
template <int R, int V>
void correlate_block(const float* in, const int64_t* offsets, const float* weights,
                     int64_t weights_step, int64_t taps, float* out, int64_t out_step, int64_t n) {
  Vector sum[R][V] = {};
  for (int64_t t = 0; t < taps; ++t) {
    const float* from = in + offsets[t];
    // Registers hold the sums, the fewer of weights and elements, and one of the others.
    if constexpr (R <= V) {
      Vector w[R];
      for (int r = 0; r < R; ++r) w[r] = Vector{} + weights[r * weights_step + t];
      for (int v = 0; v < V; ++v) {
        const Vector x = *reinterpret_cast<const Vector*>(from + v * kVectorFloats);
        for (int r = 0; r < R; ++r) sum[r][v] += w[r] * x;
      }
    } else {
      Vector x[V];
      for (int v = 0; v < V; ++v) x[v] = *reinterpret_cast<const Vector*>(from + v * kVectorFloats);
      for (int r = 0; r < R; ++r)
        for (int v = 0; v < V; ++v) sum[r][v] += weights[r * weights_step + t] * x[v];
    }
  }
  const auto* sums = reinterpret_cast<const float*>(sum);
  for (int r = 0; r < R; ++r) {
    if (n >= V * kVectorFloats) {
      for (int v = 0; v < V; ++v)
        *reinterpret_cast<Vector*>(out + r * out_step + v * kVectorFloats) += sum[r][v];
    } else {
      for (int64_t i = 0; i < n; ++i) out[r * out_step + i] += sums[r * V * kVectorFloats + i];
    }
  }
}

template <int R>
void correlate_rows(const float* in, const int64_t* offsets, const float* weights,
                    int64_t weights_step, int64_t taps, float* out, int64_t out_step, int64_t n) {
  constexpr int kVectors = kSums / R < 8 ? kSums / R : 8;
  constexpr int64_t kFull = kVectors * kVectorFloats;
  int64_t i = 0;
  // A rest of more than half the vectors is one block too.
  for (; i + kFull / 2 < n; i += kFull)
    correlate_block<R, kVectors>(in + i, offsets, weights, weights_step, taps, out + i, out_step,
                                 n - i);
  for (; i < n; i += kVectorFloats)
    correlate_block<R, 1>(in + i, offsets, weights, weights_step, taps, out + i, out_step, n - i);
}

void correlate(const float* in, const int64_t* offsets, const float* weights, int64_t weights_step,
               int64_t taps, int64_t results, float* out, int64_t out_step, int64_t n) {
  int64_t r = 0;
  const auto take = [&]<int R> {
    correlate_rows<R>(in, offsets, weights + r * weights_step, weights_step, taps,
                      out + r * out_step, out_step, n);
    r += R;
  };
  while (results - r >= 8) take.template operator()<8>();
  while (results - r >= 4) take.template operator()<4>();
  if (results - r == 3) take.template operator()<3>();
  if (results - r == 2) take.template operator()<2>();
  if (results - r == 1) take.template operator()<1>();
}

}  // namespace
}  // namespace tenon::cpu
