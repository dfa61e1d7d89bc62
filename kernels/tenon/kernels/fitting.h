/// How an image is brought to the size of a network's input.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tenon/kernels/image_sampling.h"

namespace tenon::kernels::inline TENON_TARGET {

/// Pixels [begin, end) of an axis, resized to targets [first, first + count) as cv2.resize does.
inline SampleAxis resize_axis(int64_t begin, int64_t end, int64_t first, int64_t count) {
  const double scale = static_cast<double>(end - begin) / static_cast<double>(count);
  return {.scale = scale,
          .shift = static_cast<double>(begin) + (0.5 - static_cast<double>(first)) * scale - 0.5,
          .first = static_cast<int32_t>(first),
          .last = static_cast<int32_t>(first + count),
          .begin = static_cast<int32_t>(begin),
          .end = static_cast<int32_t>(end),
          .repeats = true};
}

/// Pixels from 0 to `end`, at scale * i + shift for target pixel i of `count`, with border around
/// them.
inline SampleAxis warp_axis(double scale, double shift, int64_t count, int64_t end) {
  return {scale, shift, 0, static_cast<int32_t>(count), 0, static_cast<int32_t>(end), false};
}

struct Extent2 {
  int64_t width, height;
};

/// The image fitted into a target: position p of the image is at scale * p + shift of the target.
struct Fitting {
  double x_scale, y_scale, left, top;
  /// Where the resized image is, in pixels of the target; without width where positions are
  /// sampled as they are, not those of whole pixels.
  int64_t inner_left = 0, inner_top = 0, inner_width = 0, inner_height = 0;

  SampleAxis columns(const Extent2& image, const Extent2& to) const {
    return axis(x_scale, left, inner_left, inner_width, image.width, to.width);
  }
  SampleAxis rows(const Extent2& image, const Extent2& to) const {
    return axis(y_scale, top, inner_top, inner_height, image.height, to.height);
  }

 private:
  SampleAxis axis(double scale, double shift, int64_t first, int64_t count, int64_t image,
                  int64_t to) const {
    return inner_width > 0 ? resize_axis(0, image, first, count)
                           : warp_axis(1 / scale, -shift / scale, to, image);
  }
};

inline double smaller_scale(const Extent2& image, const Extent2& to) {
  return std::min(static_cast<double>(to.width) / static_cast<double>(image.width),
                  static_cast<double>(to.height) / static_cast<double>(image.height));
}

/// cv2.resize of the whole image to all of the target.
inline Fitting stretched(const Extent2& image, const Extent2& to) {
  const double x = static_cast<double>(to.width) / static_cast<double>(image.width);
  const double y = static_cast<double>(to.height) / static_cast<double>(image.height);
  return {x, y, 0, 0, 0, 0, to.width, to.height};
}

/// tensorRT_Pro's: one scale, centred to fractions of a pixel.
inline Fitting centred(const Extent2& image, const Extent2& to) {
  const double scale = smaller_scale(image, to);
  const auto shift = [&](int64_t of_image, int64_t of_target) {
    return (static_cast<double>(of_target) - scale * static_cast<double>(of_image) + scale - 1) / 2;
  };
  return {scale, scale, shift(image.width, to.width), shift(image.height, to.height)};
}

/// Ultralytics': one scale, to whole pixels, with border around. Boxes are mapped as its
/// scale_boxes does, without what rounding to whole pixels does to the scale.
/// @param scales_up smaller images are enlarged
/// @param is_centred else the border is right and below
inline Fitting letterboxed(const Extent2& image, const Extent2& to, bool scales_up,
                           bool is_centred) {
  const double scale =
      scales_up ? smaller_scale(image, to) : std::min(smaller_scale(image, to), 1.0);
  // Python's round(): halves to the even neighbour.
  const auto resized = [&](int64_t extent) {
    return std::max<int64_t>(std::llrint(static_cast<double>(extent) * scale), 1);
  };
  const auto before = [&](int64_t rest) {
    return is_centred ? std::llrint(static_cast<double>(rest) / 2 - 0.1) : 0;
  };
  const int64_t width = resized(image.width), height = resized(image.height);
  const int64_t left = before(to.width - width), top = before(to.height - height);
  return {scale, scale, static_cast<double>(left), static_cast<double>(top), left, top,
          width, height};
}

}  // namespace tenon::kernels::inline TENON_TARGET
