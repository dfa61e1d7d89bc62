/// Rows of what is worked out on the way, brought to mean 0 and variance 1: a sum of tensors, or of
/// embeddings. normalization.h is for rows that lie in memory.
#pragma once

#include <tenon/plugin/device.h>

#include <cmath>

namespace tenon::kernels::inline TENON_TARGET {

/// Times gamma and plus beta, which have `size` elements. source.row(r) gives a function of i, the
/// elements of a row; in y the elements of a row are `step` apart.
template <class E, class Source> struct NormalizeSource {
  static constexpr float kEpsilon = 0x1p-23f;  // so that a row of equal elements is finite

  Source source;
  E* y;
  const float *gamma, *beta;
  int64_t size, step;
  E* sums = nullptr;  // where the source's elements go as well

  TENON_DEVICE void operator()(const kit::Team& team, int64_t row) const {
    const auto elements = source.row(row);
    const int64_t first = step == 1 ? row * size : row;
    const auto count = static_cast<float>(size);
    const float mean = team.sum(size, [&](int64_t i) { return elements(i); }) / count;
    const float variance = team.sum(size, [&](int64_t i) {
      return (elements(i) - mean) * (elements(i) - mean);
    }) / count;
    const float scale = 1 / sqrtf(variance + kEpsilon);
    team.each(size, [&](int64_t i) {
      const float value = elements(i);
      y[first + i * step] = static_cast<E>((value - mean) * scale * gamma[i] + beta[i]);
      if (sums != nullptr) sums[first + i * step] = static_cast<E>(value);
    });
  }

#if !defined(__CUDACC__)
  /// Rows of a block, of which a pass leaves more in the cache than of all.
  static constexpr int64_t kRows = 64;
  /// Rows [first, first + count), at most kRows, where those lie side by side.
  void normalize_block(int64_t first, int64_t count) const {
    float mean[kRows] = {}, scale[kRows] = {};
    for (int64_t i = 0; i < size; ++i)
      for (int64_t r = 0; r < count; ++r) mean[r] += source.row(first + r)(i);
    for (int64_t r = 0; r < count; ++r) mean[r] /= static_cast<float>(size);
    for (int64_t i = 0; i < size; ++i)
      for (int64_t r = 0; r < count; ++r) {
        const float distance = source.row(first + r)(i) - mean[r];
        scale[r] += distance * distance;
      }
    for (int64_t r = 0; r < count; ++r)
      scale[r] = 1 / sqrtf(scale[r] / static_cast<float>(size) + kEpsilon);
    for (int64_t i = 0; i < size; ++i)
      for (int64_t r = 0; r < count; ++r) {
        const float value = source.row(first + r)(i);
        y[first + r + i * step] = static_cast<E>((value - mean[r]) * scale[r] * gamma[i] + beta[i]);
        if (sums != nullptr) sums[first + r + i * step] = static_cast<E>(value);
      }
  }
#endif
};

template <class E, class Source>
void normalize_source(const kit::Device& device, int64_t rows,
                      const NormalizeSource<E, Source>& normalize) {
#if !defined(__CUDACC__)
  if (normalize.step > 1) {
    constexpr int64_t kRows = NormalizeSource<E, Source>::kRows;
    return device.parallel_ranges((rows + kRows - 1) / kRows, 1, [&](int64_t begin, int64_t end) {
      kit::with_wide_vectors([&, begin, end](auto) {
        for (int64_t first = begin * kRows; first < std::min(end * kRows, rows); first += kRows)
          normalize.normalize_block(first, std::min(kRows, rows - first));
      });
    });
  }
  device.parallel_ranges(rows, 1, [&](int64_t begin, int64_t end) {
    kit::with_wide_vectors([&, begin, end](auto) {
      for (int64_t row = begin; row < end; ++row) normalize(kit::Team{}, row);
    });
  });
#else
  device.parallel_rows(rows, normalize);
#endif
}

}  // namespace tenon::kernels::inline TENON_TARGET
