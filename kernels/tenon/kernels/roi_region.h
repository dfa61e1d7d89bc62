/// Regions of feature maps, and where their samples lie.
#pragma once

#include <cmath>
#include <cstdint>

#include "tenon/kernels/pixels.h"

namespace tenon::kernels::inline TENON_TARGET {

/// The first two have the numbers that mmcv gives them.
enum class RoiPooling {
  kMaximum = 0,        // of the samples of a bin
  kAverage = 1,        // of the samples
  kMaximumOfTaps = 2,  // of the weighted neighbours of the samples, as ONNX Runtime has it
};

struct RoiAlignRule {
  int64_t height = 1, width = 1;  // of a result
  int64_t sampling_ratio = 0;     // samples per bin and axis; 0: as many as elements it covers
  RoiPooling pooling = RoiPooling::kAverage;
};

/// The samples of a region along one axis.
struct RoiAxis {
  float start, bin;
  int64_t samples;  // in each bin

  TENON_HD static RoiAxis of(float start, float length, int64_t bins, int64_t sampling_ratio) {
    // Of larger bins hardly a sample lies on a map. More would differ by less than floats do.
    constexpr float kMaxSamples = 65536;
    const float bin = length / static_cast<float>(bins);
    return {start, bin,
            sampling_ratio > 0 ? sampling_ratio
                               : static_cast<int64_t>(fminf(fmaxf(ceilf(bin), 0.f), kMaxSamples))};
  }
  TENON_HD float at(int64_t in_bin, int64_t sample) const {
    return start + static_cast<float>(in_bin) * bin
           + (static_cast<float>(sample) + 0.5f) * bin / static_cast<float>(samples);
  }
};

/// The samples of a bin that may lie within [low, high]: [first, end). There are few of them,
/// however large the region is.
struct RoiSamples {
  int64_t first, end;

  TENON_HD static RoiSamples of(const RoiAxis& axis, int64_t bin, double low, double high) {
    if (axis.samples < 64 || !(axis.bin > 0)) return {0, axis.samples};
    const auto count = static_cast<double>(axis.samples);
    const double step = axis.bin / count;
    const double base = axis.at(bin, 0), margin = 4;  // more than rounding moves them
    const double first = (low - base) / step - margin, end = (high - base) / step + margin;
    return {static_cast<int64_t>(fmin(fmax(first, 0.), count)),
            static_cast<int64_t>(fmin(fmax(end, 0.), count))};
  }
  TENON_HD int64_t size() const { return end > first ? end - first : 0; }
};

/// Feature maps that a call may have.
inline constexpr size_t kMaxMaps = 16;

/// The number of an image that is stored as a float; -1 when it is none.
TENON_HD inline int64_t image_of(float number) {
  return number >= 0 && number < 2147483648.f && number == floorf(number)
             ? static_cast<int64_t>(number)
             : -1;
}

/// Where a region lies, in elements of its map. It is rotated about its centre.
struct Region {
  int64_t map, image;
  float x, y, width,
      height;  // the corner with the least x and y before it is rotated, and the size
  float cosine = 1, sine = 0;

  TENON_HD bool is_rotated() const { return sine != 0 || cosine != 1; }
  /// Where its samples begin: those of a rotated one are counted from its centre.
  TENON_HD RoiAxis rows(const RoiAlignRule& rule) const {
    return RoiAxis::of(is_rotated() ? -height / 2 : y, height, rule.height, rule.sampling_ratio);
  }
  TENON_HD RoiAxis columns(const RoiAlignRule& rule) const {
    return RoiAxis::of(is_rotated() ? -width / 2 : x, width, rule.width, rule.sampling_ratio);
  }
  /// Samples of a row of bins, and of a column, that may lie on a map of this size.
  TENON_HD RoiSamples row_samples(const RoiAxis& axis, int64_t bin, int64_t map_height,
                                  int64_t map_width) const {
    if (!is_rotated()) return RoiSamples::of(axis, bin, -1, static_cast<double>(map_height));
    return rotated_samples(axis, bin, map_height, map_width, cosine, sine);
  }
  TENON_HD RoiSamples column_samples(const RoiAxis& axis, int64_t bin, int64_t map_height,
                                     int64_t map_width) const {
    if (!is_rotated()) return RoiSamples::of(axis, bin, -1, static_cast<double>(map_width));
    return rotated_samples(axis, bin, map_height, map_width, -sine, cosine);
  }

  /// Scales corners; unless they are `aligned`, a region has at least one element.
  TENON_HD static Region of_corners(int64_t map, int64_t image, const float* corners, float scale,
                                    bool aligned) {
    const float offset = aligned ? 0.5f : 0.f;
    Region r{map, image, corners[0] * scale - offset, corners[1] * scale - offset, 0, 0};
    r.width = corners[2] * scale - offset - r.x;
    r.height = corners[3] * scale - offset - r.y;
    r.take_an_element(aligned);
    return r;
  }
  /// The same of a region with centre x and y, width, height and angle in radians.
  TENON_HD static Region of_rotated(int64_t map, int64_t image, const float* box, float scale,
                                    bool aligned, bool clockwise) {
    const float offset = aligned ? 0.5f : 0.f, angle = clockwise ? -box[4] : box[4];
    Region r{map, image, 0, 0, box[2] * scale, box[3] * scale, cosf(angle), sinf(angle)};
    r.take_an_element(aligned);
    r.x = box[0] * scale - offset - r.width / 2;
    r.y = box[1] * scale - offset - r.height / 2;
    return r;
  }

 private:
  TENON_HD void take_an_element(bool aligned) {
    if (!aligned) width = fmaxf(width, 1.f), height = fmaxf(height, 1.f);
  }

  // An axis of a rotated region goes `down` and `right` on the map; what counts is where the map
  // begins and ends along it.
  TENON_HD RoiSamples rotated_samples(const RoiAxis& axis, int64_t bin, int64_t map_height,
                                      int64_t map_width, double down, double right) const {
    const auto rows = static_cast<double>(map_height), columns = static_cast<double>(map_width);
    const double from_y = (rows - 1) / 2 - (static_cast<double>(y) + height / 2);
    const double from_x = (columns - 1) / 2 - (static_cast<double>(x) + width / 2);
    const double middle = down * from_y + right * from_x;
    const double reach = fabs(down) * (rows + 1) / 2 + fabs(right) * (columns + 1) / 2;
    return RoiSamples::of(axis, bin, middle - reach, middle + reach);
  }
};

/// A feature map (images, channels, height, width).
template <class E> struct FeatureMap {
  const E* data;
  int64_t images, height, width;

  /// Whether there are elements where the region lies.
  TENON_HD bool has(const Region& region) const {
    return region.image >= 0 && region.image < images && height > 0 && width > 0;
  }
};

/// Regions of one map: rows of x1, y1, x2, y2, and the number of an image for each.
template <class E, class I> struct RoisOfImages {
  const E* rois;
  const I* images;
  float scale;
  bool aligned;

  TENON_HD Region operator()(int64_t i) const {
    float corners[4];
    for (int k = 0; k < 4; ++k) corners[k] = static_cast<float>(rois[i * 4 + k]);
    return Region::of_corners(0, images[i], corners, scale, aligned);
  }
};

/// The two elements around a position on an axis; outside of the axis there are none.
struct Neighbours {
  int64_t low, high;
  float weight;  // of the second

  TENON_HD static bool find(float at, int64_t extent, Neighbours& n) {
    if (!(at >= -1 && at <= static_cast<float>(extent))) return false;
    at = fmaxf(at, 0.f);
    n.low = static_cast<int64_t>(at);
    n.high = n.low + 1;
    n.weight = at - static_cast<float>(n.low);
    if (n.high >= extent) n = {extent - 1, extent - 1, 0.f};
    return true;
  }
};

/// The four elements, `step` apart, around a sample of a region, whose position is given before the
/// region is rotated. False when it is outside.
TENON_HD inline bool find_taps(const Region& region, int64_t height, int64_t width, float y,
                               float x, int64_t step, Tap* taps) {
  if (region.is_rotated()) {
    const float down = y, right = x;
    y = down * region.cosine - right * region.sine + region.y + region.height / 2;
    x = down * region.sine + right * region.cosine + region.x + region.width / 2;
  }
  Neighbours r, c;
  if (!Neighbours::find(y, height, r) || !Neighbours::find(x, width, c)) return false;
  taps[0] = {(r.low * width + c.low) * step, (1 - r.weight) * (1 - c.weight)};
  taps[1] = {(r.low * width + c.high) * step, (1 - r.weight) * c.weight};
  taps[2] = {(r.high * width + c.low) * step, r.weight * (1 - c.weight)};
  taps[3] = {(r.high * width + c.high) * step, r.weight * c.weight};
  return true;
}

}  // namespace tenon::kernels::inline TENON_TARGET
