/// Images whose channels lie side by side: made from planes, read as weighted sums of pixels, and
/// transposed into planes again. Sampling then reads whole vectors, whatever the positions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tenon/kernels/wide_vectors.h"
#include "tenon/plugin/convert.h"
#include "tenon/plugin/device.h"

namespace tenon::kernels::inline TENON_TARGET {

/// A pixel that a sum reads: its distance from the image's start, in floats, and its weight.
struct Tap {
  int64_t offset;
  float weight;
};

/// The neighbours of a position, at most four, with their shares of `weight`; none outside of the
/// image. `step` is the distance between pixels. Returns how many.
TENON_HD inline int64_t bilinear_taps(float row, float column, int64_t height, int64_t width,
                                      int64_t step, float weight, Tap* taps) {
  // Not a number is outside too.
  if (!(row > -1 && column > -1 && row < static_cast<float>(height)
        && column < static_cast<float>(width)))
    return 0;
  const float top = floorf(row), left = floorf(column);
  const float down[] = {1 - (row - top), row - top};
  const float right[] = {1 - (column - left), column - left};
  int64_t count = 0;
  for (int k = 0; k < 4; ++k) {
    const int64_t i = static_cast<int64_t>(top) + k / 2, j = static_cast<int64_t>(left) + k % 2;
    if (i >= 0 && j >= 0 && i < height && j < width)
      taps[count++] = {(i * width + j) * step, down[k / 2] * right[k % 2] * weight};
  }
  return count;
}

#if !defined(__CUDACC__)

/// Turns a tile: to[c * to_step + r] = from[r * from_step + c].
inline void transpose(const float* from, int64_t from_step, int64_t rows, int64_t columns,
                      float* to, int64_t to_step) {
  using Four = Vector<4>;
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    int64_t c = 0;
    for (; c + 4 <= columns; c += 4) {
      const float* source = from + r * from_step + c;
      const Four a = *reinterpret_cast<const Four*>(source);
      const Four b = *reinterpret_cast<const Four*>(source + from_step);
      const Four d = *reinterpret_cast<const Four*>(source + 2 * from_step);
      const Four e = *reinterpret_cast<const Four*>(source + 3 * from_step);
      const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
      const Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
      const Four de_low = __builtin_shufflevector(d, e, 0, 4, 1, 5);
      const Four de_high = __builtin_shufflevector(d, e, 2, 6, 3, 7);
      float* target = to + c * to_step + r;
      *reinterpret_cast<Four*>(target) = __builtin_shufflevector(ab_low, de_low, 0, 1, 4, 5);
      *reinterpret_cast<Four*>(target + to_step) =
          __builtin_shufflevector(ab_low, de_low, 2, 3, 6, 7);
      *reinterpret_cast<Four*>(target + 2 * to_step) =
          __builtin_shufflevector(ab_high, de_high, 0, 1, 4, 5);
      *reinterpret_cast<Four*>(target + 3 * to_step) =
          __builtin_shufflevector(ab_high, de_high, 2, 3, 6, 7);
    }
    for (; c < columns; ++c)
      for (int64_t k = 0; k < 4; ++k) to[c * to_step + r + k] = from[(r + k) * from_step + c];
  }
  for (; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) to[c * to_step + r] = from[r * from_step + c];
}

/// Pixels that are moved at a time, and channels.
inline constexpr int64_t kTilePixels = 64, kTileChannels = 64;

/// `images` times (channels, pixels) of E become (pixels, channels) of float.
template <class E>
void planes_to_pixels(const kit::Device& device, const E* planes, int64_t images, int64_t channels,
                      int64_t pixels, float* to) {
  const int64_t tiles = (pixels + kTilePixels - 1) / kTilePixels;
  device.parallel_ranges(images * tiles, 4, [&](int64_t begin, int64_t end) {
    float rows[std::is_same_v<E, float> ? 1 : kTileChannels * kTilePixels];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / tiles * channels * pixels, first = i % tiles * kTilePixels;
      const int64_t width = std::min(kTilePixels, pixels - first);
      for (int64_t c = 0; c < channels; c += kTileChannels) {
        const int64_t height = std::min(kTileChannels, channels - c);
        const E* from = planes + image + c * pixels + first;
        float* target = to + image + first * channels + c;
        if constexpr (std::is_same_v<E, float>) {
          transpose(from, pixels, height, width, target, channels);
        } else {
          for (int64_t r = 0; r < height; ++r)
            kit::convert(from + r * pixels, rows + r * kTilePixels, width);
          transpose(rows, kTilePixels, height, width, target, channels);
        }
      }
    }
  });
}

/// `count` pixels of `channels` floats, `step` apart, become parts of planes of E: channel c begins
/// at planes + c * plane_step.
template <class E>
void pixels_to_planes(const float* pixels, int64_t step, int64_t count, int64_t channels, E* planes,
                      int64_t plane_step) {
  if constexpr (std::is_same_v<E, float>) {
    transpose(pixels, step, count, channels, planes, plane_step);
  } else {
    float rows[kTileChannels * kTilePixels];
    for (int64_t p = 0; p < count; p += kTilePixels) {
      const int64_t width = std::min(kTilePixels, count - p);
      for (int64_t c = 0; c < channels; c += kTileChannels) {
        const int64_t height = std::min(kTileChannels, channels - c);
        transpose(pixels + p * step + c, step, width, height, rows, kTilePixels);
        for (int64_t r = 0; r < height; ++r)
          kit::convert(rows + r * kTilePixels, planes + (c + r) * plane_step + p, width);
      }
    }
  }
}

/// `vectors` vectors of a sum of pixels, added to what is there or not.
template <int width, int vectors, bool adds>
[[gnu::always_inline]] inline void sum_vectors(const float* image, const Tap* taps, int64_t count,
                                               float* to) {
  using V = Vector<width>;
  V sum[vectors] = {};
  if constexpr (adds)
    for (int v = 0; v < vectors; ++v) sum[v] = *reinterpret_cast<const V*>(to + v * width);
  for (int64_t t = 0; t < count; ++t)
    for (int v = 0; v < vectors; ++v)
      sum[v] += taps[t].weight * *reinterpret_cast<const V*>(image + taps[t].offset + v * width);
  for (int v = 0; v < vectors; ++v) *reinterpret_cast<V*>(to + v * width) = sum[v];
}

/// to[c] = sum over t < count of weight[t] * image[offset[t] + c], for c < channels; `adds` puts it
/// on top of what is there.
template <int width, bool adds = false>
[[gnu::always_inline]] inline void sum_pixels(const float* image, const Tap* taps, int64_t count,
                                              int64_t channels, float* to) {
  constexpr int64_t kBlock = 4 * width;
  int64_t c = 0;
  for (; c + kBlock <= channels; c += kBlock)
    sum_vectors<width, 4, adds>(image + c, taps, count, to + c);
  for (; c + width <= channels; c += width)
    sum_vectors<width, 1, adds>(image + c, taps, count, to + c);
  if constexpr (width > 4)
    for (; c + 4 <= channels; c += 4) sum_vectors<4, 1, adds>(image + c, taps, count, to + c);
  for (; c < channels; ++c) {
    float sum = adds ? to[c] : 0;
    for (int64_t t = 0; t < count; ++t) sum += taps[t].weight * image[taps[t].offset + c];
    to[c] = sum;
  }
}

#endif

}  // namespace tenon::kernels::inline TENON_TARGET
