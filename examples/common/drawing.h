// What several examples draw.
#ifndef EXAMPLES_COMMON_DRAWING_H
#define EXAMPLES_COMMON_DRAWING_H

#include <tenon/picture.h>
#include <tenon/serve/box.h>

#include <algorithm>

namespace examples {

inline void draw_box(tenon::Picture& picture, const tenon::serve::Box& box,
                     const uint8_t (&colour)[3]) {
  tenon::draw_line(picture, box.left, box.top, box.right, box.top, colour);
  tenon::draw_line(picture, box.right, box.top, box.right, box.bottom, colour);
  tenon::draw_line(picture, box.right, box.bottom, box.left, box.bottom, colour);
  tenon::draw_line(picture, box.left, box.bottom, box.left, box.top, colour);
}

inline void draw_point(tenon::Picture& picture, const tenon::serve::Point& point,
                       const uint8_t (&colour)[3]) {
  tenon::draw_line(picture, point.x, point.y, point.x, point.y, colour);
}

/// Two pictures side by side, with white below the lower one.
inline tenon::Picture side_by_side(const tenon::Picture& left, const tenon::Picture& right) {
  tenon::Picture both =
      tenon::grey_picture(left.width + right.width, std::max(left.height, right.height), 255);
  for (int y = 0; y < left.height; ++y) std::copy_n(left.at(0, y), 3 * left.width, both.at(0, y));
  for (int y = 0; y < right.height; ++y)
    std::copy_n(right.at(0, y), 3 * right.width, both.at(left.width, y));
  return both;
}

}  // namespace examples

#endif  // EXAMPLES_COMMON_DRAWING_H
