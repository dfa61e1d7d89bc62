/// Sampling by a grid on CUDA. Neighbouring threads read neighbouring channels of an element, which
/// a copy has side by side; where a copy is not worth it, each thread reads planes.
#pragma once

#if defined(__CUDACC__)

#include "tenon/kernels/grid_sample.h"
#include "tenon/kernels/pixels_cuda.h"

namespace tenon::kernels::inline TENON_TARGET {

/// What a result reads.
template <GridInterpolation interpolation, int axes>
inline constexpr int kGridTaps =
    axes == 3 ? GridTaps<interpolation>::kCount * GridTaps<interpolation>::kCount
                    * GridTaps<interpolation>::kCount
              : GridTaps<interpolation>::kCount * GridTaps<interpolation>::kCount;

/// A pixel of a result, of some channels: what it reads is found once for all of them.
template <class E, GridInterpolation interpolation, int axes>
__global__ void __launch_bounds__(128)
    sample_planes(GridRule rule, GridCall<E> call, int64_t channels) {
  constexpr int kTaps = kGridTaps<interpolation, axes>;
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

/// Pixels of the result for a block, and channels at a time.
inline constexpr int kGridPixels = 64, kGridChannels = 64;

/// `from` is x in the order of PixelLayout. What the pixels of a block read is found once; results
/// pass through shared memory into their planes: floats one by one, which is faster there, and
/// elements of 16 bits as packs if `has_packs`.
template <class E, GridInterpolation interpolation, int axes>
__global__ void __launch_bounds__(256)
    sample_pixels(GridRule rule, GridCall<E> call, const E* from, int step, bool has_packs) {
  constexpr int kTaps = kGridTaps<interpolation, axes>, kPack = Pack<E>::kCount;
  constexpr int kAcross = kGridChannels / kPack, kDown = 256 / kAcross;
  __shared__ int offsets[kTaps][kGridPixels];  // of pixels; -1 where nothing is read
  __shared__ float weights[kTaps][kGridPixels];
  __shared__ float results[kGridChannels][kGridPixels + 1];
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t first = int64_t{blockIdx.x} * kGridPixels;
  const int pixels =
      static_cast<int>(call.pixels - first < kGridPixels ? call.pixels - first : kGridPixels);
  const int pack = thread % kAcross * kPack, row = thread / kAcross;
  for (int64_t image = blockIdx.z; image < call.images; image += gridDim.z) {
    __syncthreads();  // the image before is done
    if (thread < kGridPixels) {
      Tap taps[kTaps];
      const int64_t count = thread < pixels
                                ? find_grid_taps<interpolation, axes>(
                                      rule, call, image * call.pixels + first + thread, 1, taps)
                                : 0;
#pragma unroll
      for (int t = 0; t < kTaps; ++t) {
        offsets[t][thread] = t < count ? static_cast<int>(taps[t].offset) : -1;
        weights[t][thread] = t < count ? taps[t].weight : 0;
      }
    }
    __syncthreads();
    const E* const planes = from + image * call.depth * call.height * call.width * step;
    for (int64_t c = int64_t{blockIdx.y} * kGridChannels; c < call.channels;
         c += int64_t{gridDim.y} * kGridChannels) {
      if (c + pack < call.channels)
#pragma unroll 4
        for (int i = 0; i < kGridPixels / kDown; ++i) {
          const int p = i * kDown + row;
          float sums[kPack] = {};
          constexpr int kTogether = kTaps < 4 ? kTaps : 4;  // read before the first is used
#pragma unroll
          for (int first_tap = 0; first_tap < kTaps; first_tap += kTogether) {
            Pack<E> values[kTogether]{};
#pragma unroll
            for (int t = 0; t < kTogether; ++t) {
              const int at = offsets[first_tap + t][p];
              if (at >= 0) values[t] = Pack<E>::load(planes + c + pack + int64_t{at} * step);
            }
#pragma unroll
            for (int t = 0; t < kTogether; ++t)
#pragma unroll
              for (int k = 0; k < kPack; ++k)
                sums[k] += weights[first_tap + t][p] * static_cast<float>(values[t].values[k]);
          }
#pragma unroll
          for (int k = 0; k < kPack; ++k) results[pack + k][p] = sums[k];
        }
      __syncthreads();
      constexpr int kWritten = sizeof(E) == 2 ? kPack : 1;  // at once
      for (int i = thread * kWritten; i < kGridChannels * kGridPixels; i += 256 * kWritten) {
        const int channel = i / kGridPixels, begin = i % kGridPixels;
        if (c + channel >= call.channels) break;
        E* const to = call.y + (image * call.channels + c + channel) * call.pixels + first + begin;
        Pack<E, kWritten> values;
#pragma unroll
        for (int k = 0; k < kWritten; ++k)
          values.values[k] = static_cast<E>(results[channel][begin + k]);
        if (has_packs && begin < pixels) values.store(to);
        if (has_packs) continue;
#pragma unroll
        for (int k = 0; k < kWritten; ++k)
          if (begin + k < pixels) to[k] = values.values[k];
      }
      __syncthreads();  // the next channels are written there
    }
  }
}

template <class E> PixelLayout grid_layout(const GridCall<E>& call) {
  return PixelLayout::of<E>(call.images, 1, call.channels, call.depth * call.height * call.width);
}

/// Bytes of workspace. Tensors of the call need not be there.
template <class E> size_t grid_sample_workspace(const GridRule&, int, const GridCall<E>& call) {
  return static_cast<size_t>(grid_layout(call).elements()) * sizeof(E);
}

/// `device.workspace` has as many bytes as grid_sample_workspace() says.
template <class E>
void grid_sample(const kit::Device& device, const GridRule& rule, int axes,
                 const GridCall<E>& call) {
  if (call.images * call.channels * call.pixels == 0) return;
  const auto parts_of = [](int64_t count, int64_t each) {
    return static_cast<unsigned>((count + each - 1) / each);
  };
  constexpr int64_t kChannels = 8, kPixels = 128, kMaxParts = 65535;
  const unsigned images = kit::Device::blocks(call.images);
  const PixelLayout layout = grid_layout(call);
  // Few channels fill no packs, and few results are not worth a copy of all.
  const bool copies = call.channels >= 2 * Pack<E>::kCount && call.pixels >= layout.pixels / 2
                      && layout.pixels <= INT32_MAX;
  E* const copy = static_cast<E*>(device.workspace);
  if (copies) planes_to_pixels(device, call.x, layout, copy);
  with_grid_kind(rule, axes, [&](auto interpolation, auto constant_axes) {
    constexpr auto kInterpolation = decltype(interpolation)::value;
    constexpr int kAxes = decltype(constant_axes)::value;
    // clang-format off: it takes launches apart.
    if (copies) {
      const dim3 grid(parts_of(call.pixels, kGridPixels), kit::Device::blocks(parts_of(call.channels, kGridChannels)), images);
      sample_pixels<E, kInterpolation, kAxes><<<grid, 256, 0, device.stream>>>(rule, call, copy, static_cast<int>(layout.pixel_step()), Pack<E>::divides(call.y, call.pixels));
    } else {
      const int64_t channels = std::max(kChannels, (call.channels + kMaxParts - 1) / kMaxParts);
      const dim3 grid(parts_of(call.pixels, kPixels), parts_of(call.channels, channels), images);
      sample_planes<E, kInterpolation, kAxes><<<grid, kPixels, 0, device.stream>>>(rule, call, channels);
    }
    // clang-format on
  });
}

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
