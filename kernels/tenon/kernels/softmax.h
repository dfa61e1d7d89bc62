/// Rows of scores that become weights.
#pragma once

#include <cmath>

#include "tenon/kernels/vector_math.h"
#include "tenon/kernels/wide_vectors.h"

#if !defined(__CUDACC__)

namespace tenon::kernels::inline TENON_TARGET {

/// The largest of n numbers; -infinity of none.
template <int width> [[gnu::always_inline]] inline float largest_of(const float* x, int64_t n) {
  using V = Vector<width>;
  float largest = -HUGE_VALF;
  int64_t i = 0;
  if (n >= width) {
    V lanes = *reinterpret_cast<const V*>(x);
    for (i = width; i + width <= n; i += width) {
      const V next = *reinterpret_cast<const V*>(x + i);
      lanes = next > lanes ? next : lanes;
    }
    for (int lane = 0; lane < width; ++lane)
      largest = lanes[lane] > largest ? lanes[lane] : largest;
  }
  for (; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

/// x[i] = e^(x[i] - largest) for n numbers that are not above `largest`. Returns their sum.
template <int width>
[[gnu::always_inline]] inline float exponentials(float* x, int64_t n, float largest) {
  using V = Vector<width>;
  constexpr int kSums = 4;
  for (int64_t i = 0; i < n; ++i) x[i] = fast_share(x[i] - largest);
  V sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums * width <= n; i += kSums * width)
    for (int k = 0; k < kSums; ++k) sums[k] += *reinterpret_cast<const V*>(x + i + k * width);
  const V all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  float sum = 0;
  for (int lane = 0; lane < width; ++lane) sum += all[lane];
  for (; i < n; ++i) sum += x[i];
  return sum;
}

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
