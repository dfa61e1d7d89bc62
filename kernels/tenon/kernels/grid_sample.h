/// Reading an image or a volume at positions that another tensor holds. Semantics: PyTorch's
/// grid_sample, ONNX GridSample-22.
#pragma once

#include <cmath>
#include <type_traits>

#include "tenon/kernels/cubic.h"
#include "tenon/kernels/grid_pairs.h"
#include "tenon/kernels/pixels.h"

namespace tenon::kernels::inline TENON_TARGET {

/// Elements along one axis and their weights. Those that are outside have no weight.
template <GridInterpolation interpolation> struct GridTaps {
  static constexpr int kCount = interpolation == GridInterpolation::kNearest  ? 1
                                : interpolation == GridInterpolation::kLinear ? 2
                                                                              : 4;
  int64_t index[kCount];
  float weight[kCount];

  TENON_HD GridTaps(const GridRule& rule, float coordinate, int64_t extent) {
    const float at = grid_position(rule, coordinate, extent);
    const float below = interpolation == GridInterpolation::kNearest ? rintf(at) : floorf(at);
    auto first = static_cast<int64_t>(below);
    if constexpr (interpolation == GridInterpolation::kNearest) {
      weight[0] = 1;
    } else if constexpr (interpolation == GridInterpolation::kLinear) {
      weight[0] = 1 - (at - below);
      weight[1] = at - below;
    } else {
      cubic_weights(at - below, weight);
      --first;
    }
    for (int k = 0; k < kCount; ++k) {
      index[k] = first + k;
      if (index[k] >= 0 && index[k] < extent) continue;
      if (rule.padding == GridPadding::kZeros)
        index[k] = 0, weight[k] = 0;
      else
        index[k] = padded(rule, index[k], extent);
    }
  }

 private:
  // The element that stands for one outside.
  TENON_HD static int64_t padded(const GridRule& rule, int64_t at, int64_t extent) {
    if (rule.padding == GridPadding::kBorder) return at < 0 ? 0 : extent - 1;
    // Mirrors are the centres of the outermost elements, or their outer edges.
    if (rule.align_corners && extent == 1) return 0;
    const int64_t period = 2 * (rule.align_corners ? extent - 1 : extent);
    const int64_t rest = (at % period + period) % period;
    if (rest < extent) return rest;
    return rule.align_corners ? period - rest : period - 1 - rest;
  }
};

/// Elements, `step` apart, that a pixel of the result sums up. Those without weight are left out,
/// so that infinities there do no harm. Returns how many.
template <GridInterpolation interpolation, int axes, class E>
TENON_HD int64_t find_grid_taps(const GridRule& rule, const GridCall<E>& call, int64_t pixel,
                                int64_t step, Tap* taps) {
  using Axis = GridTaps<interpolation>;
  const E* at = call.grid + pixel * axes;
  const Axis columns(rule, static_cast<float>(at[0]), call.width);
  const Axis rows(rule, static_cast<float>(at[1]), call.height);
  int64_t count = 0;
  const auto add_layer = [&](int64_t layer, float share) {
    for (int j = 0; j < Axis::kCount; ++j)
      for (int i = 0; i < Axis::kCount; ++i) {
        const float weight = share * rows.weight[j] * columns.weight[i];
        const int64_t row = layer * call.height + rows.index[j];
        if (weight != 0) taps[count++] = {(row * call.width + columns.index[i]) * step, weight};
      }
  };
  if constexpr (axes == 3) {
    const Axis layers(rule, static_cast<float>(at[2]), call.depth);
    for (int k = 0; k < Axis::kCount; ++k)
      if (layers.weight[k] != 0) add_layer(layers.index[k], layers.weight[k]);
  } else {
    add_layer(0, 1.f);
  }
  return count;
}

/// Calls f(interpolation, axes) with both as constants. There is no cubic interpolation of volumes.
template <class F> void with_grid_kind(const GridRule& rule, int axes, const F& f) {
  const auto with_axes = [&](auto interpolation) {
    if (axes == 3)
      f(interpolation, std::integral_constant<int, 3>());
    else
      f(interpolation, std::integral_constant<int, 2>());
  };
  if (rule.interpolation == GridInterpolation::kLinear)
    with_axes(std::integral_constant<GridInterpolation, GridInterpolation::kLinear>());
  else if (rule.interpolation == GridInterpolation::kNearest)
    with_axes(std::integral_constant<GridInterpolation, GridInterpolation::kNearest>());
  else
    f(std::integral_constant<GridInterpolation, GridInterpolation::kCubic>(),
      std::integral_constant<int, 2>());
}

#if !defined(__CUDACC__)

/// Bytes of workspace. Tensors of the call need not be there.
template <class E>
size_t grid_sample_workspace(const GridRule& rule, int axes, const GridCall<E>& call) {
  if (reads_grid_pairs(rule, axes, call))
    return axes == 3 ? GridPairs<3>::bytes(call) : GridPairs<2>::bytes(call);
  return static_cast<size_t>(call.images * call.channels * call.depth * call.height * call.width)
         * sizeof(float);
}

/// Samples the pixels of one image a block at a time.
template <class E, GridInterpolation interpolation, int axes, int vector>
void sample_block(const GridRule& rule, const GridCall<E>& call, const float* pixels, int64_t image,
                  int64_t first, int64_t tile_pixels) {
  constexpr int64_t kMaxTaps =
      axes == 3 ? 8 : GridTaps<interpolation>::kCount * GridTaps<interpolation>::kCount;
  Tap taps[kTilePixels * kMaxTaps];
  int64_t count[kTilePixels];
  alignas(64) float tile[kTilePixels * kTileChannels];
  for (int64_t p = 0; p < tile_pixels; ++p)
    count[p] = find_grid_taps<interpolation, axes>(rule, call, image * call.pixels + first + p,
                                                   call.channels, taps + p * kMaxTaps);
  const float* from = pixels + image * call.channels * call.depth * call.height * call.width;
  E* to = call.y + image * call.channels * call.pixels + first;
  for (int64_t c = 0; c < call.channels; c += kTileChannels) {
    const int64_t channels = std::min(kTileChannels, call.channels - c);
    for (int64_t p = 0; p < tile_pixels; ++p)
      sum_pixels<vector>(from + c, taps + p * kMaxTaps, count[p], channels,
                         tile + p * kTileChannels);
    pixels_to_planes(tile, kTileChannels, tile_pixels, channels, to + c * call.pixels, call.pixels);
  }
}

/// `axes` is 2 for images, 3 for volumes. Coordinates that are not numbers are outside.
template <class E>
void grid_sample(const kit::Device& device, const GridRule& rule, int axes,
                 const GridCall<E>& call) {
  if (call.channels == 0) return;  // the address of an empty result may be null
  if constexpr (std::is_same_v<E, float>)
    if (reads_grid_pairs(rule, axes, call))
      return axes == 3 ? sample_grid_pairs<3>(device, rule, call)
                       : sample_grid_pairs<2>(device, rule, call);
  auto* pixels = static_cast<float*>(device.workspace);
  planes_to_pixels(device, call.x, call.images, call.channels,
                   call.depth * call.height * call.width, pixels);
  const int64_t blocks = (call.pixels + kTilePixels - 1) / kTilePixels;
  with_grid_kind(rule, axes, [&](auto interpolation, auto constant_axes) {
    device.parallel_ranges(call.images * blocks, 4, [&](int64_t begin, int64_t end) {
      with_wide_vectors([&](auto vector) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t first = i % blocks * kTilePixels;
          sample_block<E, decltype(interpolation)::value, decltype(constant_axes)::value,
                       decltype(vector)::value>(rule, call, pixels, i / blocks, first,
                                                std::min(kTilePixels, call.pixels - first));
        }
      });
    });
  });
}

#else

template <class E> size_t grid_sample_workspace(const GridRule&, int, const GridCall<E>&) {
  return 0;
}

/// A pixel of a result, of some channels: what it reads is found once for all of them.
template <class E, GridInterpolation interpolation, int axes>
__global__ void __launch_bounds__(128)
    sample_pixels(GridRule rule, GridCall<E> call, int64_t channels) {
  constexpr int kAxis = GridTaps<interpolation>::kCount;
  constexpr int kTaps = axes == 3 ? kAxis * kAxis * kAxis : kAxis * kAxis;
  const int64_t pixel = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (pixel >= call.pixels) return;
  const int64_t size = call.depth * call.height * call.width;
  for (int64_t image = blockIdx.z; image < call.images; image += gridDim.z) {
    Tap taps[kTaps];
    const int64_t count =
        find_grid_taps<interpolation, axes>(rule, call, image * call.pixels + pixel, 1, taps);
    int64_t offsets[kTaps];
    float weights[kTaps];
#pragma unroll
    for (int t = 0; t < kTaps; ++t) {
      offsets[t] = t < count ? taps[t].offset : -1;
      weights[t] = t < count ? taps[t].weight : 0;
    }
    const int64_t first = blockIdx.y * channels;
    const int64_t end = first + channels < call.channels ? first + channels : call.channels;
    const E* from = call.x + (image * call.channels + first) * size;
    E* to = call.y + (image * call.channels + first) * call.pixels + pixel;
#pragma unroll 4
    for (int64_t c = first; c < end; ++c, from += size, to += call.pixels) {
      float sum = 0;
#pragma unroll
      for (int t = 0; t < kTaps; ++t)
        if (offsets[t] >= 0) sum += weights[t] * static_cast<float>(from[offsets[t]]);
      *to = static_cast<E>(sum);
    }
  }
}

template <class E>
void grid_sample(const kit::Device& device, const GridRule& rule, int axes,
                 const GridCall<E>& call) {
  if (call.images * call.channels * call.pixels == 0) return;
  constexpr int64_t kChannels = 8, kPixels = 128, kMaxParts = 65535;
  const int64_t channels = std::max(kChannels, (call.channels + kMaxParts - 1) / kMaxParts);
  const dim3 grid(static_cast<unsigned>((call.pixels + kPixels - 1) / kPixels),
                  static_cast<unsigned>((call.channels + channels - 1) / channels),
                  kit::Device::blocks(call.images));
  with_grid_kind(rule, axes, [&](auto interpolation, auto constant_axes) {
    // clang-format off: it takes launches apart.
    sample_pixels<E, decltype(interpolation)::value, decltype(constant_axes)::value>
        <<<grid, kPixels, 0, device.stream>>>(rule, call, channels);
    // clang-format on
  });
}

#endif

}  // namespace tenon::kernels::inline TENON_TARGET
