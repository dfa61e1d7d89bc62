/// Products of matrices: the engine's where there is one, else a plain one.
#pragma once

#include <tenon/plugin_host.h>

#include <cstdint>

#include "tenon/plugin/elements.h"

namespace tenon {
namespace kit {

/// A matrix in rows, `stride` elements from row to row. A transposed one is stored as its
/// transpose.
struct Matrix {
  const float* data;
  int64_t stride;
  bool is_transposed = false;

  TENON_HD float at(int64_t row, int64_t column) const {
    return is_transposed ? data[column * stride + row] : data[row * stride + column];
  }
};

inline namespace TENON_TARGET {

#if !defined(__CUDACC__)

/// Rows [begin, end) of a product, for engines that have none.
inline void multiply_rows(const TenonMatrixProduct& p, int64_t begin, int64_t end) {
  const Matrix a{p.a, p.aStride, p.aTransposed}, b{p.b, p.bStride, p.bTransposed};
  for (int64_t i = begin; i < end; ++i) {
    float* row = p.c + i * p.cStride;
    if (!p.add)
      for (int64_t j = 0; j < p.n; ++j) row[j] = 0;
    for (int64_t l = 0; l < p.k; ++l) {
      const float factor = a.at(i, l);
      if (b.is_transposed)
        for (int64_t j = 0; j < p.n; ++j) row[j] += factor * b.data[j * b.stride + l];
      else
        for (int64_t j = 0; j < p.n; ++j) row[j] += factor * b.data[l * b.stride + j];
    }
  }
}

#else

inline constexpr int kTile = 16;

static __global__ void multiply_tile(int64_t m, int64_t n, int64_t k, Matrix a, Matrix b, float* c,
                                     int64_t stride, bool add) {
  __shared__ float left[kTile][kTile], right[kTile][kTile + 1];
  const int x = threadIdx.x, y = threadIdx.y;
  const int64_t row = blockIdx.y * int64_t{kTile} + y, column = blockIdx.x * int64_t{kTile} + x;
  float sum = 0;
  for (int64_t first = 0; first < k; first += kTile) {
    left[y][x] = row < m && first + x < k ? a.at(row, first + x) : 0.f;
    right[y][x] = first + y < k && column < n ? b.at(first + y, column) : 0.f;
    __syncthreads();
    for (int l = 0; l < kTile; ++l) sum += left[y][l] * right[l][x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * stride + column] = add ? c[row * stride + column] + sum : sum;
}

#endif

}  // namespace TENON_TARGET
}  // namespace kit
}  // namespace tenon
