// Where text is: the map of a text detector to boxes.
#ifndef TENON_SERVE_TEXT_BOXES_H
#define TENON_SERVE_TEXT_BOXES_H

#include <array>
#include <vector>

#include "tenon/serve/box.h"
#include "tenon/serve/view.h"

namespace tenon::serve {

struct TextBox {
  /// A rectangle at any angle: top left, top right, bottom right, bottom left, by the picture's
  /// axes.
  std::array<Point, 4> corners;
  float score = 0;
};

struct TextBoxOptions {
  float threshold = 0.3F;        ///< a pixel of the map is text above this; from 0 to 1
  float score_threshold = 0.6F;  ///< of the mean of the map in a box; from 0 to 1
  float unclip_ratio = 1.5F;  ///< the map shows shrunk lines: they grow by area * this / perimeter
  float min_side = 3;         ///< of boxes before they grow, in pixels of the map
  int64_t max_boxes = 1000;   ///< so many of the largest parts are looked at
  Matrix23 to_picture = kIdentityMatrix;  ///< from pixels of the map
  int64_t width = 0,
          height = 0;  ///< of the picture, which corners are clipped to; 0 for no clipping
};

/// DB (Liao et al., 2020): `map` is (height, width) or (1, height, width) of probabilities. Parts
/// are pixels that touch, corners included; holes are not parts. Each becomes the smallest
/// rectangle around the middles of its pixels. As PaddleOCR's "fast" score and order, but that it
/// looks at holes too and fills polygons of whole pixels.
/// @return boxes from top to bottom, and from left to right where their tops are less than 10
/// pixels apart. An error for another shape, or options that mean nothing.
Result<std::vector<TextBox>> decode_text_boxes(const View& map,
                                               const TextBoxOptions& options) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_TEXT_BOXES_H
