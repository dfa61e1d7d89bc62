/// Rows of what is worked out on the way, brought to mean 0 and variance 1: a sum of tensors, or of
/// embeddings. normalization.h is for rows that lie in memory.
#pragma once

#include <tenon/plugin/device.h>

#include <cmath>

namespace tenon::kernels::inline TENON_TARGET {

/// Times gamma and plus beta, which have `size` elements. source(row, i) gives element `i` of a
/// row; in y the elements of a row are `step` apart.
template <class E, class Source> struct NormalizeSource {
  static constexpr float kEpsilon = 0x1p-23f;  // so that a row of equal elements is finite

  Source source;
  E* y;
  const float *gamma, *beta;
  int64_t size, step;
  E* sums = nullptr;  // where the source's elements go as well

  TENON_DEVICE void operator()(const kit::Team& team, int64_t row) const {
    const int64_t first = step == 1 ? row * size : row;
    const auto count = static_cast<float>(size);
    const float mean = team.sum(size, [&](int64_t i) { return source(row, i); }) / count;
    const float variance = team.sum(size, [&](int64_t i) {
      return (source(row, i) - mean) * (source(row, i) - mean);
    }) / count;
    const float scale = 1 / sqrtf(variance + kEpsilon);
    team.each(size, [&](int64_t i) {
      const float value = source(row, i);
      y[first + i * step] = static_cast<E>((value - mean) * scale * gamma[i] + beta[i]);
      if (sums != nullptr) sums[first + i * step] = static_cast<E>(value);
    });
  }
};

}  // namespace tenon::kernels::inline TENON_TARGET
