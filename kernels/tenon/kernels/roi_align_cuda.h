/// RoIAlign on CUDA: a region is a block's, or an element a thread's.
#pragma once

#if defined(__CUDACC__)

#include "tenon/kernels/pixels_cuda.h"
#include "tenon/kernels/roi_align.h"
#include "tenon/kernels/warp.h"
#include "tenon/kernels/workspace.h"

namespace tenon::kernels::inline TENON_TARGET {

inline size_t roi_align_workspace(int64_t pixels, int64_t channels) {
  Carver carver;
  carver.array<float>(PixelLayout::of<float>(1, 1, channels, pixels).elements());
  return carver.bytes();
}

template <class E> struct FeatureMaps {
  FeatureMap<E> map[kMaxMaps];
};

/// A bin of a region, of `count` channels. `read(offset, values)` gives what they have in a pixel;
/// pixels are `step` apart. Samples that are left out are 0.
template <int count, class Read>
__device__ void pool_bin(const RoiAlignRule& rule, const Region& region, int64_t height,
                         int64_t width, int64_t row, int64_t column, int64_t step, const Read& read,
                         float (&results)[count]) {
  const RoiAxis rows = region.rows(rule), columns = region.columns(rule);
  const RoiSamples down = region.row_samples(rows, row, height, width);
  const RoiSamples across = region.column_samples(columns, column, height, width);
  const bool takes_average = rule.pooling == RoiPooling::kAverage;
  const int64_t samples = rows.samples * columns.samples;
  const bool starts_with_0 = takes_average || down.size() * across.size() < samples;
#pragma unroll
  for (float& result : results) result = starts_with_0 ? 0.f : -INFINITY;
  for (int64_t k = down.first; k < down.end; ++k)
    for (int64_t l = across.first; l < across.end; ++l) {
      Tap taps[4];
      const bool is_inside =
          find_taps(region, height, width, rows.at(row, k), columns.at(column, l), step, taps);
      float sample[count] = {}, largest[count];
#pragma unroll
      for (float& value : largest) value = is_inside ? -INFINITY : 0;
      if (is_inside)
        for (const Tap& t : taps) {
          float values[count];
          read(t.offset, values);
#pragma unroll
          for (int c = 0; c < count; ++c) {
            sample[c] += values[c] * t.weight;
            largest[c] = fmaxf(largest[c], values[c] * t.weight);
          }
        }
#pragma unroll
      for (int c = 0; c < count; ++c)
        results[c] =
            takes_average
                ? results[c] + sample[c]
                : fmaxf(results[c], rule.pooling == RoiPooling::kMaximum ? sample[c] : largest[c]);
    }
#pragma unroll
  for (float& result : results) {
    if (samples == 0) result = 0;
    if (takes_average && samples > 0) result /= static_cast<float>(samples);
  }
}

/// One element of a result. Regions without a map or position give 0.
template <class E, class Regions> struct RoiElement {
  RoiAlignRule rule;
  FeatureMaps<E> maps;
  Regions regions;
  int64_t channels;
  E* y;

  __device__ void operator()(int64_t i) const {
    const int64_t column = i % rule.width, row = i / rule.width % rule.height;
    const int64_t channel = i / (rule.width * rule.height) % channels;
    const Region region = regions(i / (rule.width * rule.height * channels));
    const FeatureMap<E>& map = maps.map[region.map];
    float result[1] = {};
    if (map.has(region)) {
      const E* plane = map.data + (region.image * channels + channel) * map.height * map.width;
      pool_bin(
          rule, region, map.height, map.width, row, column, 1,
          [&](int64_t at, float(&value)[1]) { value[0] = static_cast<float>(plane[at]); }, result);
    }
    y[i] = static_cast<E>(result[0]);
  }
};

/// What the bins of a region read along one axis: elements and their weights. Samples that are
/// neighbours share elements.
struct RoiAxisTaps {
  static constexpr int kMaxSamples = 64;
  int offset[2 * kMaxSamples];
  float weight[2 * kMaxSamples];
  int count[kMaxSamples];  // of each bin
  int step;                // from bin to bin

  __device__ static bool fits(const RoiAxis& axis, int64_t bins) {
    return axis.samples > 0 && bins * axis.samples <= kMaxSamples;
  }
  /// Elements are `distance` apart. For all threads of a block.
  __device__ void find(const RoiAxis& axis, int64_t bins, int64_t extent, int64_t distance) {
    if (threadIdx.x == 0) step = static_cast<int>(2 * axis.samples);
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) {
      const int first = bin * static_cast<int>(2 * axis.samples);
      const float share = 1 / static_cast<float>(axis.samples);
      int taps = 0;
      const auto add = [&](int64_t at, float part) {
        const auto at_pixel = static_cast<int>(at * distance);
        for (int t = taps > 2 ? taps - 2 : 0; t < taps; ++t)
          if (offset[first + t] == at_pixel) {
            weight[first + t] += part;
            return;
          }
        offset[first + taps] = at_pixel;
        weight[first + taps++] = part;
      };
      for (int64_t k = 0; k < axis.samples; ++k) {
        Neighbours n;
        if (!Neighbours::find(axis.at(bin, k), extent, n)) continue;
        add(n.low, (1 - n.weight) * share);
        if (n.weight != 0) add(n.high, n.weight * share);
      }
      count[bin] = taps;
    }
  }
};

/// What is pooled: maps with their pixels in the order of PixelLayout, `step` apart.
template <class E, class Regions> struct RoiPool {
  RoiAlignRule rule;
  FeatureMaps<E> maps;
  Regions regions;
  int64_t channels, step;
  E* y;
};

/// Adds what a bin reads of a pack of channels.
template <class E, int count>
__device__ void add_products(const RoiAxisTaps& down, int row, const RoiAxisTaps& across,
                             int column, const E* image, float (&sums)[count]) {
  const int begin = row * down.step, first = column * across.step;
  for (int k = begin; k < begin + down.count[row]; ++k) {
    const E* const line = image + down.offset[k];
    const float v = down.weight[k];
#pragma unroll 2
    for (int l = first; l < first + across.count[column]; ++l) {
      const float w = v * across.weight[l];
      const auto pixel = Pack<E>::load(line + across.offset[l]);
#pragma unroll
      for (int c = 0; c < count; ++c) sums[c] += w * static_cast<float>(pixel.values[c]);
    }
  }
}

/// A region is a block's, some channels of it. A bin is a warp's, and its lanes have a pack of
/// channels each. Averages of samples that lie in rows and columns are products of averages along
/// the axes.
template <class E, class Regions>
__global__ void __launch_bounds__(256, 4) pool_regions(RoiPool<E, Regions> pool, int64_t count) {
  constexpr int kPack = Pack<E>::kCount, kChannels = kWarp * kPack, kBins = 64;
  constexpr int kWarps = 256 / kWarp;
  __shared__ RoiAxisTaps down, across;
  // Lanes write to different banks.
  __shared__ E results[kPack][kWarp][kBins + 4 / sizeof(E)];
  const RoiAlignRule& rule = pool.rule;
  const int bins = static_cast<int>(rule.height * rule.width), width = static_cast<int>(rule.width);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t begin = int64_t{blockIdx.y} * kChannels;
  const int channels =
      static_cast<int>(pool.channels - begin < kChannels ? pool.channels - begin : kChannels);
  for (int64_t roi = blockIdx.x; roi < count; roi += gridDim.x) {
    const Region region = pool.regions(roi);
    const FeatureMap<E>& map = pool.maps.map[region.map];
    const bool is_there = map.has(region);
    const RoiAxis rows = region.rows(rule), columns = region.columns(rule);
    const bool has_axes = rule.pooling == RoiPooling::kAverage && !region.is_rotated()
                          && RoiAxisTaps::fits(rows, rule.height)
                          && RoiAxisTaps::fits(columns, rule.width);
    __syncthreads();  // the region before is done
    if (is_there && has_axes) {
      down.find(rows, rule.height, map.height, map.width * pool.step);
      across.find(columns, rule.width, map.width, pool.step);
    }
    __syncthreads();
    const E* const image = map.data + region.image * map.height * map.width * pool.step + begin
                           + (lane * kPack < channels ? lane * kPack : 0);
    E* const y = pool.y + (roi * pool.channels + begin) * bins;
    for (int first = 0; first < bins; first += kBins) {
      const int some = bins - first < kBins ? bins - first : kBins;
      for (int bin = warp; bin < some; bin += kWarps) {
        const int row = (first + bin) / width, column = first + bin - row * width;
        float sums[kPack] = {};
        if (is_there && has_axes)
          add_products(down, row, across, column, image, sums);
        else if (is_there)
          pool_bin(
              rule, region, map.height, map.width, row, column, pool.step,
              [&](int64_t at, float(&values)[kPack]) {
                const auto pack = Pack<E>::load(image + at);
#pragma unroll
                for (int c = 0; c < kPack; ++c) values[c] = static_cast<float>(pack.values[c]);
              },
              sums);
#pragma unroll
        for (int c = 0; c < kPack; ++c) results[c][lane][bin] = static_cast<E>(sums[c]);
      }
      __syncthreads();
      for (int c = warp; c < channels; c += kWarps)
        for (int bin = lane; bin < some; bin += kWarp)
          y[c * bins + first + bin] = results[c % kPack][c / kPack][bin];
      if (first + kBins < bins) __syncthreads();
    }
  }
}

/// `device.workspace` has as many bytes as roi_align_workspace() says.
template <class E, class Regions>
void roi_align(const kit::Device& device, const RoiAlignRule& rule,
               std::span<const FeatureMap<E>> maps, int64_t channels, const Regions& regions,
               int64_t count, E* y) {
  if (count * channels == 0) return;
  RoiElement<E, Regions> element{rule, {}, regions, channels, y};
  int64_t pixels = 0, max_pixels = 0;  // of all maps, and of an image
  for (size_t i = 0; i < maps.size(); ++i) {
    element.maps.map[i] = maps[i];
    pixels += maps[i].images * maps[i].height * maps[i].width;
    max_pixels = std::max(max_pixels, maps[i].height * maps[i].width);
  }
  // Copies are made if results read more than maps have, and 32 bits count an image's elements.
  constexpr int64_t kReads = 16;
  const int64_t bins = rule.height * rule.width;
  const int64_t max_elements = PixelLayout::of<E>(1, 1, channels, max_pixels).elements();
  if (count * bins * kReads < pixels || max_elements > INT32_MAX)
    return device.parallel_for(count * channels * bins, element);
  RoiPool<E, Regions> pool{rule, element.maps, regions, channels, 0, y};
  Carver carver(device.workspace);
  for (size_t i = 0; i < maps.size(); ++i) {
    const auto layout =
        PixelLayout::of<E>(maps[i].images, 1, channels, maps[i].height * maps[i].width);
    E* const copy = carver.array<E>(layout.elements());
    planes_to_pixels(device, maps[i].data, layout, copy);
    pool.maps.map[i].data = copy;
    pool.step = layout.pixel_step();
  }
  constexpr int64_t kChannels = kWarp * Pack<E>::kCount;
  const dim3 grid(static_cast<unsigned>(std::min<int64_t>(count, INT32_MAX)),
                  static_cast<unsigned>((channels + kChannels - 1) / kChannels));
  // clang-format off: it takes launches apart.
  pool_regions<E, Regions><<<grid, 256, 0, device.stream>>>(pool, count);
  // clang-format on
}

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
