/// Boxes of Faster R-CNN and Mask R-CNN: anchors moved by deltas of their middle and of the
/// logarithm of their size, and clipped to their image.
#pragma once

#include <tenon/plugin/require.h>

#include <cmath>
#include <vector>

#include "tenon/kernels/kept_boxes.h"

namespace tenon::kernels::inline TENON_TARGET {

/// Axes are y, x; a Box has top, left, bottom, right in this order.
struct MovedBox {
  float bottom, right;  ///< of the image: pixels, or 1
  float pixel = 0;      ///< 1: a box covers its last pixel, and logarithms are clamped

  /// @param delta four numbers: of y and x in tenths of the anchor, of height and width in fifths
  template <class E> TENON_HD Box operator()(const Box& anchor, const E* delta) const {
    const float height = anchor.x2 - anchor.x1 + pixel, width = anchor.y2 - anchor.y1 + pixel;
    const float y = anchor.x1 + height / 2 + static_cast<float>(delta[0]) * 0.1f * height;
    const float x = anchor.y1 + width / 2 + static_cast<float>(delta[1]) * 0.1f * width;
    const float tall = expf(logarithm(static_cast<float>(delta[2]))) * height;
    const float wide = expf(logarithm(static_cast<float>(delta[3]))) * width;
    const float top = y - tall / 2, left = x - wide / 2;
    return {clip(top, bottom), clip(left, right), clip(top + tall - pixel, bottom),
            clip(left + wide - pixel, right)};
  }

 private:
  TENON_HD float logarithm(float delta) const {
    constexpr float kMax = 4.135166556742356f;  // of 1000 / 16
    return pixel > 0 ? fminf(delta * 0.2f, kMax) : delta * 0.2f;
  }
  TENON_HD static float clip(float at, float high) { return fmaxf(fminf(at, high), 0.f); }
};

/// The limits of an attribute image_size: channels, height and width.
inline MovedBox within_pixels(const std::vector<int32_t>& image_size) {
  return {static_cast<float>(image_size[1] - 1), static_cast<float>(image_size[2] - 1), 1};
}
/// Throws std::invalid_argument unless such a list has three elements, and more than a pixel.
inline void require_image(const std::vector<int32_t>& image_size) {
  kit::require_elements("image_size", image_size.size(), 3);
  kit::require_at_least("the height of image_size", image_size[1], 2);
  kit::require_at_least("the width of image_size", image_size[2], 2);
}

/// Throws std::invalid_argument unless a tensor is (images, boxes, numbers), or with axes of 1
/// behind them.
inline void require_list(const char* name, const kit::Shape& found, int64_t images, int64_t boxes,
                         int64_t numbers) {
  kit::Shape list = found;
  while (list.rank() > 3 && list[list.rank() - 1] == 1) --list.nbDims;
  kit::require_shape(name, list, {images, boxes, numbers});
}

}  // namespace tenon::kernels::inline TENON_TARGET
