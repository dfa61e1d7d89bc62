/// Regions of feature maps brought to one size by bilinear samples. Semantics: torchvision's
/// roi_align, mmcv's RoIAlign and RoIAlignRotated, ONNX RoiAlign.
#pragma once

#include <cmath>
#include <span>
#include <stdexcept>
#include <string>

#include "tenon/kernels/roi_region.h"

namespace tenon::kernels::inline TENON_TARGET {

#if !defined(__CUDACC__)

/// Elements along one axis of a map and their weights: some samples of a bin, with what they share
/// added up.
struct RoiTaps {
  static constexpr int64_t kSamples = 16;
  int64_t count;
  int64_t index[2 * kSamples];
  float weight[2 * kSamples];

  void add(int64_t at, float share) {
    for (int64_t k = std::max<int64_t>(count - 2, 0); k < count; ++k)
      if (index[k] == at) {
        weight[k] += share;
        return;
      }
    index[count] = at;
    weight[count++] = share;
  }
  /// Samples from `sample` to `end`, until these are full. Returns the first that is left.
  int64_t fill(const RoiAxis& axis, int64_t bin, int64_t extent, int64_t sample, int64_t end) {
    const float share = 1 / static_cast<float>(axis.samples);
    count = 0;
    for (; sample < end && count + 2 <= 2 * kSamples; ++sample) {
      Neighbours n;
      if (!Neighbours::find(axis.at(bin, sample), extent, n)) continue;
      add(n.low, (1 - n.weight) * share);
      if (n.weight != 0) add(n.high, n.weight * share);
    }
    return sample;
  }
};

/// Pools one region at a time, a block of bins and channels at a time.
template <int vector> class RoiPooler {
 public:
  static constexpr int64_t kBins = 64, kChannels = 256;

  RoiPooler(const RoiAlignRule& rule, const Region& region, const FeatureMap<float>& map,
            int64_t channels)
      : rule_(rule),
        region_(region),
        map_(map),
        channels_(channels),
        image_(map.data + region.image * map.height * map.width * channels),
        rows_(region.rows(rule)),
        columns_(region.columns(rule)) {}

  /// Writes (channels, bins) of E.
  template <class E> void run(E* y) {
    const int64_t bins = rule_.height * rule_.width;
    for (int64_t c = 0; c < channels_; c += kChannels) {
      const int64_t width = std::min(kChannels, channels_ - c);
      for (int64_t first = 0; first < bins; first += kBins) {
        const int64_t count = std::min(kBins, bins - first);
        for (int64_t k = 0; k < count; ++k) {
          const int64_t row = (first + k) / rule_.width, column = (first + k) % rule_.width;
          float* to = tile_ + k * kChannels;
          if (rule_.pooling != RoiPooling::kAverage)
            take_maximum(row, column, c, width, to);
          else if (region_.is_rotated())
            average_samples(row, column, c, width, to);
          else
            average_elements(row, column, c, width, to);
        }
        pixels_to_planes(tile_, kChannels, count, width, y + c * bins + first, bins);
      }
    }
  }

 private:
  [[gnu::always_inline]] void add(int64_t count, int64_t channel, int64_t width, float* to) const {
    sum_pixels<vector, true>(image_ + channel, taps_, count, width, to);
  }

  RoiSamples samples_down(int64_t row) const {
    return region_.row_samples(rows_, row, map_.height, map_.width);
  }
  RoiSamples samples_across(int64_t column) const {
    return region_.column_samples(columns_, column, map_.height, map_.width);
  }

  // The average over samples is a product of averages along the axes.
  [[gnu::always_inline]] void average_elements(int64_t row, int64_t column, int64_t channel,
                                               int64_t width, float* to) {
    const RoiSamples across = samples_across(column), down = samples_down(row);
    RoiTaps r, c;
    std::fill_n(to, width, 0.f);
    for (int64_t i = down.first; i < down.end;) {
      i = r.fill(rows_, row, map_.height, i, down.end);
      for (int64_t j = across.first; j < across.end;) {
        j = c.fill(columns_, column, map_.width, j, across.end);
        int64_t count = 0;
        for (int64_t k = 0; k < r.count; ++k)
          for (int64_t l = 0; l < c.count; ++l)
            taps_[count++] = {(r.index[k] * map_.width + c.index[l]) * channels_,
                              r.weight[k] * c.weight[l]};
        add(count, channel, width, to);
      }
    }
  }

  bool find_sample(int64_t row, int64_t i, int64_t column, int64_t j, Tap* taps) const {
    return find_taps(region_, map_.height, map_.width, rows_.at(row, i), columns_.at(column, j),
                     channels_, taps);
  }

  [[gnu::always_inline]] void average_samples(int64_t row, int64_t column, int64_t channel,
                                              int64_t width, float* to) {
    const RoiSamples across = samples_across(column), down = samples_down(row);
    const float share = 1 / static_cast<float>(rows_.samples * columns_.samples);
    std::fill_n(to, width, 0.f);
    int64_t count = 0;
    for (int64_t i = down.first; i < down.end; ++i)
      for (int64_t j = across.first; j < across.end; ++j) {
        if (!find_sample(row, i, column, j, taps_ + count)) continue;
        for (int64_t k = 0; k < 4; ++k) taps_[count++].weight *= share;
        if (count < kTaps) continue;
        add(count, channel, width, to);
        count = 0;
      }
    add(count, channel, width, to);
  }

  // Samples outside count as 0, and so does a bin without samples.
  [[gnu::always_inline]] void take_maximum(int64_t row, int64_t column, int64_t channel,
                                           int64_t width, float* __restrict to) {
    const float* image = image_ + channel;
    const RoiSamples across = samples_across(column), down = samples_down(row);
    const int64_t looked_at = down.size() * across.size();
    bool is_inside = looked_at > 0 && looked_at == rows_.samples * columns_.samples;
    std::fill_n(to, width, -INFINITY);
    for (int64_t i = down.first; i < down.end; ++i)
      for (int64_t j = across.first; j < across.end; ++j) {
        if (!find_sample(row, i, column, j, taps_)) {
          is_inside = false;
          continue;
        }
        const float* __restrict x[4];
        float w[4];
        for (int k = 0; k < 4; ++k) x[k] = image + taps_[k].offset, w[k] = taps_[k].weight;
        if (rule_.pooling == RoiPooling::kMaximum)
          for (int64_t c = 0; c < width; ++c)
            to[c] =
                larger(to[c], w[0] * x[0][c] + w[1] * x[1][c] + w[2] * x[2][c] + w[3] * x[3][c]);
        else
          for (int64_t c = 0; c < width; ++c)
            to[c] = larger(to[c], larger(larger(w[0] * x[0][c], w[1] * x[1][c]),
                                         larger(w[2] * x[2][c], w[3] * x[3][c])));
      }
    if (is_inside) return;
    for (int64_t c = 0; c < width; ++c) to[c] = larger(to[c], 0.f);
  }
  static float larger(float a, float b) { return a > b ? a : b; }

  static constexpr int64_t kTaps = 4 * RoiTaps::kSamples * RoiTaps::kSamples;
  const RoiAlignRule& rule_;
  const Region& region_;
  const FeatureMap<float>& map_;
  int64_t channels_;
  const float* image_;
  RoiAxis rows_, columns_;
  Tap taps_[kTaps];
  alignas(64) float tile_[kBins * kChannels];
};

/// Bytes of workspace for a map with so many pixels, those of all its images; those of several maps
/// add up.
inline size_t roi_align_workspace(int64_t pixels, int64_t channels) {
  return static_cast<size_t>(std::max<int64_t>(pixels * channels, 0)) * sizeof(float);
}

/// Pools regions(i), a Region, for i < count; writes y (count, channels, height, width). Samples
/// outside of their map are 0. Throws std::invalid_argument for regions without a map or position.
template <class E, class Regions>
void roi_align(const kit::Device& device, const RoiAlignRule& rule,
               std::span<const FeatureMap<E>> maps, int64_t channels, const Regions& regions,
               int64_t count, E* y) {
  if (count * channels == 0) return;
  FeatureMap<float> pixels[kMaxMaps];
  auto* next = static_cast<float*>(device.workspace);
  for (size_t i = 0; i < maps.size(); ++i) {
    const int64_t plane = maps[i].height * maps[i].width;
    if (plane <= 0) throw std::invalid_argument("a feature map has no elements");
    planes_to_pixels(device, maps[i].data, maps[i].images, channels, plane, next);
    pixels[i] = {next, maps[i].images, maps[i].height, maps[i].width};
    next += maps[i].images * channels * plane;
  }
  device.parallel_ranges(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Region region = regions(i);
      const FeatureMap<float>& map = pixels[region.map];
      const std::string name = "region " + std::to_string(i);
      if (region.image < 0 || region.image >= map.images)
        throw std::invalid_argument(name + " is of image " + std::to_string(region.image)
                                    + "; there are " + std::to_string(map.images));
      if (!std::isfinite(region.x + region.y + region.width + region.height + region.cosine))
        throw std::invalid_argument(name + " has a coordinate that is not a finite number");
      E* to = y + i * channels * rule.height * rule.width;
      with_wide_vectors([&](auto vector) {
        RoiPooler<decltype(vector)::value>(rule, region, map, channels).run(to);
      });
    }
  });
}

#endif

}  // namespace tenon::kernels::inline TENON_TARGET

#include "tenon/kernels/roi_align_cuda.h"
