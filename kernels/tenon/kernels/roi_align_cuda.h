/// RoIAlign on CUDA: a region is a block's, or an element a thread's.
#pragma once

#if defined(__CUDACC__)

#include "tenon/kernels/roi_align.h"
#include "tenon/kernels/warp.h"

namespace tenon::kernels::inline TENON_TARGET {

inline size_t roi_align_workspace(int64_t) {
  return 0;
}

template <class E> struct FeatureMaps {
  FeatureMap<E> map[kMaxMaps];
};

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
    y[i] = static_cast<E>(0.f);
    if (region.image < 0 || region.image >= map.images) return;
    const E* plane = map.data + (region.image * channels + channel) * map.height * map.width;
    const RoiAxis rows = region.rows(rule), columns = region.columns(rule);
    const RoiSamples down = region.row_samples(rows, row, map.height, map.width);
    const RoiSamples across = region.column_samples(columns, column, map.height, map.width);
    const bool takes_average = rule.pooling == RoiPooling::kAverage;
    const int64_t samples = rows.samples * columns.samples;
    // Samples that are left out are 0.
    float total = takes_average || down.size() * across.size() < samples ? 0.f : -INFINITY;
    for (int64_t k = down.first; k < down.end; ++k)
      for (int64_t l = across.first; l < across.end; ++l) {
        Tap taps[4];
        float sample = 0, largest = 0;
        if (find_taps(region, map.height, map.width, rows.at(row, k), columns.at(column, l), 1,
                      taps)) {
          largest = -INFINITY;
          for (const Tap& t : taps) {
            const float share = static_cast<float>(plane[t.offset]) * t.weight;
            sample += share;
            largest = fmaxf(largest, share);
          }
        }
        if (takes_average)
          total += sample;
        else
          total = fmaxf(total, rule.pooling == RoiPooling::kMaximum ? sample : largest);
      }
    if (samples == 0) total = 0;
    y[i] =
        static_cast<E>(takes_average && samples > 0 ? total / static_cast<float>(samples) : total);
  }
};

/// Where the samples of a region lie along one axis.
struct RoiSampleAxis {
  static constexpr int kMaxSamples = 64;
  int low[kMaxSamples], high[kMaxSamples];  // -1 where the sample is outside
  float weight[kMaxSamples];                // of the second

  __device__ void find(const RoiAxis& axis, int64_t bins, int64_t extent) {
    for (int i = threadIdx.x; i < bins * axis.samples; i += blockDim.x) {
      Neighbours n;
      const bool is_inside =
          Neighbours::find(axis.at(i / axis.samples, i % axis.samples), extent, n);
      low[i] = is_inside ? static_cast<int>(n.low) : -1;
      high[i] = is_inside ? static_cast<int>(n.high) : -1;
      weight[i] = is_inside ? n.weight : 0;
    }
  }
};

/// A region is a block's. The part of the map that it covers goes into shared memory, 32 channels
/// side by side, which are the lanes of a warp; a bin is a warp's. Regions that are rotated, large,
/// or with many samples, and maxima, are pooled element by element.
template <class E, class Regions>
__global__ void __launch_bounds__(256) pool_regions(RoiElement<E, Regions> all, int64_t count) {
  constexpr int kStride = kWarp + 1, kWindow = 8192 / kStride, kBins = 64;
  __shared__ RoiSampleAxis down, across;
  __shared__ float window[kWindow][kStride];
  __shared__ float results[kWarp][kBins + 1];
  __shared__ int edges[4];  // the least and the largest row, and column
  const int bins = static_cast<int>(all.rule.height * all.rule.width);
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            warps = static_cast<int>(blockDim.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int64_t roi = blockIdx.x; roi < count; roi += gridDim.x) {
    const Region region = all.regions(roi);
    const FeatureMap<E>& map = all.maps.map[region.map];
    const RoiAxis rows = region.rows(all.rule), columns = region.columns(all.rule);
    const int64_t row_count = all.rule.height * rows.samples;
    const int64_t column_count = all.rule.width * columns.samples;
    bool is_plain = region.image >= 0 && region.image < map.images && !region.is_rotated()
                    && all.rule.pooling == RoiPooling::kAverage && row_count > 0 && column_count > 0
                    && row_count <= RoiSampleAxis::kMaxSamples
                    && column_count <= RoiSampleAxis::kMaxSamples;
    __syncthreads();  // the region before is done
    if (threadIdx.x < 4) edges[threadIdx.x] = threadIdx.x % 2 == 0 ? INT32_MAX : -1;
    if (is_plain) {
      down.find(rows, all.rule.height, map.height);
      across.find(columns, all.rule.width, map.width);
    }
    __syncthreads();
    if (is_plain && threadIdx.x < 2 * RoiSampleAxis::kMaxSamples) {
      const bool is_row = threadIdx.x < RoiSampleAxis::kMaxSamples;
      const int k = static_cast<int>(threadIdx.x) % RoiSampleAxis::kMaxSamples;
      const RoiSampleAxis& axis = is_row ? down : across;
      if (k < (is_row ? row_count : column_count) && axis.low[k] >= 0) {
        atomicMin(edges + (is_row ? 0 : 2), axis.low[k]);
        atomicMax(edges + (is_row ? 1 : 3), axis.high[k]);
      }
    }
    __syncthreads();
    const int top = edges[0], left = edges[2], width = edges[3] - left + 1;
    const bool is_outside = edges[1] < 0 || edges[3] < 0;
    const int64_t area = is_outside ? 0 : int64_t{edges[1] - top + 1} * width;
    is_plain = is_plain && area <= kWindow;
    E* const y = all.y + roi * all.channels * bins;
    if (!is_plain) {
      for (int64_t i = threadIdx.x; i < all.channels * bins; i += blockDim.x)
        all(roi * all.channels * bins + i);
      continue;
    }
    const int64_t plane = map.height * map.width;
    const E* const image = map.data + region.image * all.channels * plane + top * map.width + left;
    const float share = 1.f / static_cast<float>(rows.samples * columns.samples);
    for (int64_t c = 0; c < all.channels; c += kWarp) {
      const int channels = all.channels - c < kWarp ? static_cast<int>(all.channels - c) : kWarp;
      for (int i = threadIdx.x; i < channels * area; i += blockDim.x) {
        const int channel = i / static_cast<int>(area), at = i - channel * static_cast<int>(area);
        const int row = at / width;
        window[at][channel] =
            static_cast<float>(image[(c + channel) * plane + row * map.width + at - row * width]);
      }
      __syncthreads();
      for (int first = 0; first < bins; first += kBins) {
        const int some = bins - first < kBins ? bins - first : kBins;
        for (int bin = warp; bin < some; bin += warps) {
          const int row = (first + bin) / static_cast<int>(all.rule.width);
          const int column = first + bin - row * static_cast<int>(all.rule.width);
          float total = 0;
          for (int k = 0; k < rows.samples; ++k) {
            const int r = row * static_cast<int>(rows.samples) + k;
            if (down.low[r] < 0) continue;
            const int low = (down.low[r] - top) * width - left;
            const int high = (down.high[r] - top) * width - left;
            const float v = down.weight[r];
            for (int l = 0; l < columns.samples; ++l) {
              const int s = column * static_cast<int>(columns.samples) + l;
              const int here = across.low[s], next = across.high[s];
              if (here < 0) continue;
              const float w = across.weight[s];
              total += (1 - v) * ((1 - w) * window[low + here][lane] + w * window[low + next][lane])
                       + v * ((1 - w) * window[high + here][lane] + w * window[high + next][lane]);
            }
          }
          results[lane][bin] = total * share;
        }
        __syncthreads();
        for (int i = threadIdx.x; i < channels * some; i += blockDim.x) {
          const int channel = i / some, bin = i - channel * some;
          y[(c + channel) * bins + first + bin] = static_cast<E>(results[channel][bin]);
        }
        __syncthreads();
      }
    }
  }
}

template <class E, class Regions>
void roi_align(const kit::Device& device, const RoiAlignRule& rule,
               std::span<const FeatureMap<E>> maps, int64_t channels, const Regions& regions,
               int64_t count, E* y) {
  if (count * channels == 0) return;
  RoiElement<E, Regions> element{rule, {}, regions, channels, y};
  for (size_t i = 0; i < maps.size(); ++i) element.maps.map[i] = maps[i];
  // clang-format off: it takes launches apart.
  pool_regions<E, Regions><<<kit::Device::blocks(count), 256, 0, device.stream>>>(element, count);
  // clang-format on
}

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
