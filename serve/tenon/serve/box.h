// Boxes that detectors find, and the way from an engine's input back to the picture.
#ifndef TENON_SERVE_BOX_H
#define TENON_SERVE_BOX_H

#include <array>
#include <cstdint>

#include "tenon/serve/matrix.h"

namespace tenon::serve {

/// Covers [left, right) x [top, bottom), in pixels.
struct Box {
  float left = 0, top = 0, right = 0, bottom = 0;
  float score = 0;          ///< from 0 to 1
  int32_t class_label = 0;  ///< from 0 on
  int64_t index = 0;        ///< which candidate of the head it was
};

/// A rectangle around (x, y). The side of length `width` points to (cos angle, sin angle): radians,
/// clockwise on the screen, as y points down.
struct RotatedBox {
  float x = 0, y = 0, width = 0, height = 0, angle = 0;
  float score = 0;
  int32_t class_label = 0;
  int64_t index = 0;
};

/// The bounds of the four mapped corners.
Box mapped(const Matrix23& matrix, const Box& box);
/// Exact for scales, turns and mirrors that are the same in x and y; else the sides' lengths and
/// the direction of `width` are right.
RotatedBox mapped(const Matrix23& matrix, const RotatedBox& box);
/// What is left within a picture of width x height pixels.
Box clipped(const Box& box, float width, float height);

/// The same rectangle with an angle from 0 to below a quarter turn: sides are exchanged where the
/// angle is in the second or fourth quarter, as Ultralytics gives oriented boxes.
RotatedBox regularized(const RotatedBox& box);
/// The corners: from that at -width / 2, -height / 2 on, clockwise on the screen.
std::array<Point, 4> corners(const RotatedBox& box);

}  // namespace tenon::serve

#endif  // TENON_SERVE_BOX_H
