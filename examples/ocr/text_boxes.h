// From the map of a text detector to boxes: the post-processing of DB (Liao et al., "Real-time
// Scene Text Detection with Differentiable Binarization").
#ifndef EXAMPLES_OCR_TEXT_BOXES_H
#define EXAMPLES_OCR_TEXT_BOXES_H

#include <array>
#include <vector>

struct Point {
  float x = 0, y = 0;
};

/// A rectangle at any angle: top left, top right, bottom right, bottom left of its text.
using TextBox = std::array<Point, 4>;

struct BoxOptions {
  float threshold = 0.3f;  ///< a pixel of the map is text above this
  float score = 0.5f;      ///< the least mean of the map in a box
  float unclip = 2.5f;     ///< the map shows shrunk lines: they grow by area * unclip / perimeter
  float least_side = 3;    ///< pixels of the map
};

/// Boxes of the connected parts of `map` (rows first), in its pixels, in reading order.
std::vector<TextBox> text_boxes(const float* map, int width, int height, const BoxOptions& options);

/// The length of a box's upper and left side.
float width_of(const TextBox& box);
float height_of(const TextBox& box);

#endif  // EXAMPLES_OCR_TEXT_BOXES_H
