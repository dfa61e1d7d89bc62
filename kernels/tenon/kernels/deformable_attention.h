/// Attention over a few locations in feature maps that each query chooses. Semantics: mmcv's
/// MultiScaleDeformableAttention ("Deformable DETR", Zhu et al. 2020).
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>

#include "tenon/kernels/pixels.h"

namespace tenon::kernels::inline TENON_TARGET {

/// Tensors of a call. The elements of all levels lie behind each other.
template <class E, class I> struct DeformableAttentionCall {
  const E* value;      // (images, elements, heads, channels)
  const I* shapes;     // (levels, 2): height and width
  const I* starts;     // (levels): the first element
  const E* locations;  // (images, queries, heads, levels, points, 2): x and y, 0 to 1 in the map
  const E* weights;    // (images, queries, heads, levels, points)
  E* y;                // (images, queries, heads, channels)
  int64_t images, elements, heads, channels, levels, queries, points;
};

/// What a point reads of its level: up to four neighbours, and none outside. `step` is the distance
/// between elements. Returns how many.
template <class E, class I>
TENON_HD inline int64_t find_point(const DeformableAttentionCall<E, I>& call, int64_t level,
                                   int64_t point, int64_t step, Tap* taps) {
  const int64_t height = call.shapes[level * 2], width = call.shapes[level * 2 + 1];
  const float row = static_cast<float>(call.locations[point * 2 + 1]) * static_cast<float>(height);
  const float column = static_cast<float>(call.locations[point * 2]) * static_cast<float>(width);
  int64_t count = bilinear_taps(row - 0.5f, column - 0.5f, height, width, step,
                                static_cast<float>(call.weights[point]), taps);
  const int64_t first = call.starts[level] * step;
  for (int64_t k = 0; k < count; ++k) taps[k].offset += first;
#if defined(__CUDACC__)
  // Elsewhere levels are checked before.
  int64_t inside = 0;
  for (int64_t k = 0; k < count; ++k)
    if (taps[k].offset >= 0 && taps[k].offset < call.elements * step) taps[inside++] = taps[k];
  count = inside;
#endif
  return count;
}

#if !defined(__CUDACC__)

/// Throws std::invalid_argument for levels that are not part of the value.
template <class E, class I>
void deformable_attention(const kit::Device& device, const DeformableAttentionCall<E, I>& call) {
  for (int64_t l = 0; l < call.levels; ++l) {
    const int64_t height = call.shapes[l * 2], width = call.shapes[l * 2 + 1];
    const int64_t start = call.starts[l], elements = call.elements;
    const bool fits = height >= 0 && width >= 0 && start >= 0 && start <= elements
                      && (width == 0 || height <= (elements - start) / width);
    if (!fits)
      throw std::invalid_argument("level " + std::to_string(l) + ", of " + std::to_string(height)
                                  + " x " + std::to_string(width) + " elements from "
                                  + std::to_string(start) + " on, is not part of a value of "
                                  + std::to_string(elements) + " elements");
  }
  const int64_t step = call.heads * call.channels, size = call.elements * step;
  const int64_t rows = call.images * call.queries * call.heads;
  device.parallel_ranges(rows, 16, [&](int64_t begin, int64_t end) {
    with_wide_vectors([&](auto vector) {
      constexpr bool kIsFloat = std::is_same_v<E, float>;
      constexpr int64_t kTaps = kIsFloat ? 256 : 64, kChannels = 64;  // at a time
      Tap taps[kTaps];
      float pixels[kIsFloat ? 1 : kTaps * kChannels], sum[kChannels];
      const auto add = [&](const E* image, int64_t count,
                           int64_t channels) __attribute__((always_inline)) {
        const float* from;
        if constexpr (kIsFloat) {
          from = image;
        } else {
          for (int64_t t = 0; t < count; ++t) {
            kit::convert(image + taps[t].offset, pixels + t * kChannels, channels);
            taps[t].offset = t * kChannels;
          }
          from = pixels;
        }
        sum_pixels<decltype(vector)::value, true>(from, taps, count, channels, sum);
      };
      for (int64_t row = begin; row < end; ++row) {
        const E* head = call.value + row / (call.queries * call.heads) * size
                        + row % call.heads * call.channels;
        for (int64_t c = 0; c < call.channels; c += kChannels) {
          const int64_t channels = std::min(kChannels, call.channels - c);
          std::fill_n(sum, channels, 0.f);
          int64_t count = 0;
          for (int64_t i = 0; i < call.levels * call.points; ++i) {
            count += find_point(call, i / call.points, row * call.levels * call.points + i, step,
                                taps + count);
            if (count + 4 <= kTaps) continue;
            add(head + c, count, channels);
            count = 0;
          }
          add(head + c, count, channels);
          kit::convert(sum, call.y + row * call.channels + c, channels);
        }
      }
    });
  });
}

#else

/// One element of a result.
template <class E, class I> struct DeformableAttentionElement {
  DeformableAttentionCall<E, I> call;

  __device__ void operator()(int64_t i) const {
    const int64_t row = i / call.channels, step = call.heads * call.channels;
    const E* value = call.value + row / (call.queries * call.heads) * call.elements * step
                     + row % call.heads * call.channels + i % call.channels;
    float sum = 0;
    for (int64_t k = 0; k < call.levels * call.points; ++k) {
      Tap taps[4];
      const int64_t count =
          find_point(call, k / call.points, row * call.levels * call.points + k, step, taps);
      for (int64_t t = 0; t < count; ++t)
        sum += taps[t].weight * static_cast<float>(value[taps[t].offset]);
    }
    call.y[i] = static_cast<E>(sum);
  }
};

template <class E, class I>
void deformable_attention(const kit::Device& device, const DeformableAttentionCall<E, I>& call) {
  device.parallel_for(call.images * call.queries * call.heads * call.channels,
                      DeformableAttentionElement<E, I>{call});
}

#endif

}  // namespace tenon::kernels::inline TENON_TARGET
