/// Products of packed panels: what cuBLAS's functions spend their time in.
#include "tenon/hostcuda/gemm.h"

namespace tenon::hostcuda {
namespace {

using Vector = float __attribute__((vector_size(32), aligned(4), may_alias));
constexpr int kWidth = 8, kVectors = kRowsAtOnce / kWidth;

[[gnu::always_inline]] inline void multiply(float* sums, int rows, int columns, int depth,
                                            const float* a, const float* b) {
  for (int j = 0; j < columns; j += kColumnsAtOnce)
    for (int i = 0; i < rows; i += kRowsAtOnce) {
      Vector sum[kColumnsAtOnce][kVectors];
#pragma GCC unroll 8
      for (int c = 0; c < kColumnsAtOnce; ++c)
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v)
          sum[c][v] = *reinterpret_cast<Vector*>(sums + (j + c) * rows + i + v * kWidth);
      for (int p = 0; p < depth; ++p) {
        const float* const left = a + static_cast<long>(p) * rows + i;
        const float* const right = b + static_cast<long>(p) * columns + j;
#pragma GCC unroll 8
        for (int c = 0; c < kColumnsAtOnce; ++c)
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v)
            sum[c][v] += *reinterpret_cast<const Vector*>(left + v * kWidth) * right[c];
      }
#pragma GCC unroll 8
      for (int c = 0; c < kColumnsAtOnce; ++c)
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v)
          *reinterpret_cast<Vector*>(sums + (j + c) * rows + i + v * kWidth) = sum[c][v];
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void multiply_with_avx2(float* sums, int rows, int columns,
                                                            int depth, const float* a,
                                                            const float* b) {
  multiply(sums, rows, columns, depth, a, b);
}
#endif

}  // namespace

void multiply_panels(float* sums, int rows, int columns, int depth, const float* a,
                     const float* b) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return multiply_with_avx2(sums, rows, columns, depth, a, b);
#endif
  multiply(sums, rows, columns, depth, a, b);
}

}  // namespace tenon::hostcuda
