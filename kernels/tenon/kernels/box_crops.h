/// Boxes of images brought to one size, several boxes for each image: crops of one map, or of
/// several of which a box takes one. The result is (N, boxes, C, height, width).
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "tenon/kernels/pixels.h"
#include "tenon/kernels/roi_region.h"
#include "tenon/kernels/workspace.h"
#include "tenon/plugin/require.h"

namespace tenon::kernels::inline TENON_TARGET {

/// Where the samples of a box lie along one axis of its map.
struct CropAxis {
  float start, bin;     // elements
  int64_t samples = 1;  // of a bin
  float offset = 0.5f;  // of the first sample, in samples

  TENON_HD float at(int64_t in_bin, int64_t sample) const {
    return start + bin * static_cast<float>(in_bin)
           + bin * (static_cast<float>(sample) + offset) / static_cast<float>(samples);
  }
};

/// A box. Samples outside of the map are 0, or clamped to it. Without a map all is 0.
struct Crop {
  int64_t map;  // -1: none
  CropAxis rows, columns;
  bool clamps;
};

template <class E> struct CropMaps {
  static constexpr int kMax = 5;
  FeatureMap<E> map[kMax] = {};
  int count = 0;

  CropMaps() = default;
  explicit CropMaps(const kit::Tensors<const E>& maps) {
    for (; count < maps.count; ++count) map[count] = map_of(maps[count]);
  }
  explicit CropMaps(const kit::Tensor<const E>& one) : count(1) { map[0] = map_of(one); }

 private:
  static FeatureMap<E> map_of(const kit::Tensor<const E>& x) {
    return {x.data, x.shape[0], x.shape[2], x.shape[3]};
  }
};

/// What a bilinear sample reads: nothing outside of [0, extent - 1] unless it is clamped. Returns
/// how many taps there are, up to kSampleTaps.
inline constexpr int kSampleTaps = 4;
TENON_HD inline int64_t crop_taps(int64_t height, int64_t width, float y, float x, bool clamps,
                                  int64_t step, float weight, Tap* taps) {
  const auto bottom = static_cast<float>(height - 1), right = static_cast<float>(width - 1);
  if (clamps) {
    y = fminf(fmaxf(y, 0.f), bottom);
    x = fminf(fmaxf(x, 0.f), right);
  }
  if (!(y >= 0 && y <= bottom && x >= 0 && x <= right)) return 0;
  // Of large maps the last row and column are not exact as floats.
  const int64_t row = std::min(static_cast<int64_t>(y), height - 1);
  const int64_t column = std::min(static_cast<int64_t>(x), width - 1);
  const int64_t below = row + (row + 1 < height), beside = column + (column + 1 < width);
  const float down = y - static_cast<float>(row), across = x - static_cast<float>(column);
  taps[0] = {(row * width + column) * step, (1 - down) * (1 - across) * weight};
  taps[1] = {(row * width + beside) * step, (1 - down) * across * weight};
  taps[2] = {(below * width + column) * step, down * (1 - across) * weight};
  taps[3] = {(below * width + beside) * step, down * across * weight};
  return kSampleTaps;
}

/// The taps of sample `sample` of a pixel of the result.
template <class E>
TENON_HD int64_t sample_taps(const Crop& crop, const FeatureMap<E>& map, int64_t row,
                             int64_t column, int64_t sample, int64_t step, Tap* taps) {
  const int64_t across = crop.columns.samples;
  return crop_taps(map.height, map.width, crop.rows.at(row, sample / across),
                   crop.columns.at(column, sample % across), crop.clamps, step,
                   1 / static_cast<float>(crop.rows.samples * across), taps);
}

/// Boxes of a call. `crops` gives the Crop of a box from its four numbers.
template <class E, class Crops> struct CropCall {
  CropMaps<E> maps;
  Crops crops;
  const E* boxes;
  E* y;
  int64_t boxes_of_image, channels, height, width;

  TENON_HD Crop crop(int64_t box) const {
    float numbers[4];
    for (int k = 0; k < 4; ++k) numbers[k] = static_cast<float>(boxes[box * 4 + k]);
    return crops(maps, numbers);
  }
};

#if defined(__CUDACC__)

/// One element of the result.
template <class E, class Crops> struct CropElement {
  CropCall<E, Crops> call;

  TENON_HD void operator()(int64_t i) const {
    const int64_t column = i % call.width, row = i / call.width % call.height;
    const int64_t channel = i / (call.width * call.height) % call.channels;
    const int64_t box = i / (call.width * call.height * call.channels);
    const Crop crop = call.crop(box);
    call.y[i] = static_cast<E>(0.f);
    if (crop.map < 0) return;
    const FeatureMap<E>& map = call.maps.map[crop.map];
    const E* plane =
        map.data + (box / call.boxes_of_image * call.channels + channel) * map.height * map.width;
    float sum = 0;
    for (int64_t s = 0; s < crop.rows.samples * crop.columns.samples; ++s) {
      Tap taps[kSampleTaps];
      const int64_t count = sample_taps(crop, map, row, column, s, 1, taps);
      for (int64_t t = 0; t < count; ++t)
        sum += taps[t].weight * static_cast<float>(plane[taps[t].offset]);
    }
    call.y[i] = static_cast<E>(sum);
  }
};

#else

/// Some pixels of a box at a time, of maps whose channels lie side by side.
template <class E, class Crops> class BoxCropper {
 public:
  BoxCropper(const CropCall<E, Crops>& call, const float* const* pixels)
      : call_(call), pixels_(pixels) {}

  template <int width> void run(int64_t box) {
    const Crop crop = call_.crop(box);
    const int64_t plane = call_.height * call_.width;
    E* const y = call_.y + box * call_.channels * plane;
    if (crop.map < 0)
      return static_cast<void>(std::fill_n(y, call_.channels * plane, static_cast<E>(0.f)));
    const FeatureMap<E>& map = call_.maps.map[crop.map];
    const float* const image =
        pixels_[crop.map] + box / call_.boxes_of_image * map.height * map.width * call_.channels;
    const int64_t samples = crop.rows.samples * crop.columns.samples;
    const int64_t together = std::min(samples, kMaxSamples);
    const int64_t block = std::clamp<int64_t>(kMaxSamples / samples, 1, kTilePixels);
    for (int64_t first = 0; first < plane; first += block) {
      const int64_t some = std::min(block, plane - first);
      if (together == samples) find(crop, map, first, some, 0, samples);
      for (int64_t c = 0; c < call_.channels; c += kTileChannels) {
        const int64_t channels = std::min(kTileChannels, call_.channels - c);
        std::fill_n(tile_, some * kTileChannels, 0.f);
        for (int64_t s = 0; s < samples; s += together) {
          const int64_t parts = std::min(together, samples - s);
          if (together != samples) find(crop, map, first, some, s, parts);
          for (int64_t p = 0; p < some; ++p)
            sum_pixels<width, true>(image + c, taps_ + p * parts * kSampleTaps, count_[p], channels,
                                    tile_ + p * kTileChannels);
        }
        pixels_to_planes(tile_, kTileChannels, some, channels, y + c * plane + first, plane);
      }
    }
  }

 private:
  static constexpr int64_t kMaxSamples = 256;

  // What `parts` samples from `sample` on of some pixels read.
  void find(const Crop& crop, const FeatureMap<E>& map, int64_t first, int64_t some, int64_t sample,
            int64_t parts) {
    for (int64_t p = 0; p < some; ++p) {
      Tap* const taps = taps_ + p * parts * kSampleTaps;
      count_[p] = 0;
      for (int64_t s = 0; s < parts; ++s)
        count_[p] += sample_taps(crop, map, (first + p) / call_.width, (first + p) % call_.width,
                                 sample + s, call_.channels, taps + count_[p]);
    }
  }

  const CropCall<E, Crops>& call_;
  const float* const* pixels_;  // of each map
  Tap taps_[kMaxSamples * kSampleTaps];
  int64_t count_[kTilePixels];
  alignas(64) float tile_[kTilePixels * kTileChannels];
};

#endif

/// Bytes for the maps as floats, which the CPU reads.
inline size_t crop_workspace([[maybe_unused]] std::span<const kit::Shape> maps) {
#if defined(__CUDACC__)
  return 0;
#else
  Carver carver;
  for (const kit::Shape& map : maps) carver.array<float>(map.volume());
  return carver.bytes();
#endif
}

/// Maps (N, C, height, width) and boxes (N, count, 4), or (N, count, 4, 1).
inline void require_crops(const kit::Shape& boxes, std::span<const kit::Shape> maps) {
  const bool is_list = boxes.rank() == 3 || (boxes.rank() == 4 && boxes[3] == 1);
  if (!is_list || boxes[2] != 4)
    throw std::invalid_argument("boxes must be (N, boxes, 4), found " + text_of(boxes));
  for (const kit::Shape& map : maps) {
    if (map.rank() != 4 || map[0] != boxes[0] || map[1] != maps[0][1])
      throw std::invalid_argument(
          "a feature map must be (" + std::to_string(boxes[0])
          + ", C, height, width), as the boxes and the other maps are, found " + text_of(map));
    if (map[2] < 1 || map[3] < 1)
      throw std::invalid_argument("a feature map has no elements: " + text_of(map));
  }
}

inline kit::Extents crop_extents(const kit::Extents& boxes, const kit::Extents& map, int64_t height,
                                 int64_t width) {
  if (boxes.size() < 3 || map.size() != 4)
    throw std::invalid_argument(
        "expected boxes (N, boxes, 4) and feature maps of 4 dimensions, found "
        + std::to_string(boxes.size()) + " and " + std::to_string(map.size()) + " dimensions");
  return {boxes[0], boxes[1], map[1], height, width};
}

template <class E, class Crops>
void crop_all(const kit::Device& device, const Crops& crops, const CropMaps<E>& maps,
              const kit::Tensor<const E>& boxes, const kit::Tensor<E>& y) {
  const CropCall<E, Crops> call{maps,           crops,      boxes.data, y.data,
                                boxes.shape[1], y.shape[2], y.shape[3], y.shape[4]};
  if (y.shape.volume() == 0) return;
#if defined(__CUDACC__)
  device.parallel_for(y.shape.volume(), CropElement<E, Crops>{call});
#else
  Carver carver(device.workspace);
  const float* pixels[CropMaps<E>::kMax];
  for (int i = 0; i < maps.count; ++i) {
    const FeatureMap<E>& map = maps.map[i];
    const int64_t plane = map.height * map.width;
    auto* const to = carver.array<float>(map.images * call.channels * plane);
    planes_to_pixels(device, map.data, map.images, call.channels, plane, to);
    pixels[i] = to;
  }
  device.parallel_ranges(y.shape[0] * y.shape[1], 1, [&](int64_t begin, int64_t end) {
    with_wide_vectors([&, begin, end](auto vector) {
      BoxCropper<E, Crops> cropper(call, pixels);
      for (int64_t box = begin; box < end; ++box)
        cropper.template run<decltype(vector)::value>(box);
    });
  });
#endif
}

/// The level of a box of this area: each has four times the area of the one before.
template <class E>
TENON_HD int64_t pyramid_level(const CropMaps<E>& maps, float area, float threshold) {
  int64_t level = 0;
  for (; level + 1 < maps.count && area > threshold; threshold *= 4) ++level;
  return level;
}

}  // namespace tenon::kernels::inline TENON_TARGET
