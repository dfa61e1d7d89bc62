#include "tenon/serve/box.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tenon::serve {

Box mapped(const Matrix23& matrix, const Box& box) {
  const Point points[] = {
      mapped(matrix, Point{box.left, box.top}), mapped(matrix, Point{box.right, box.top}),
      mapped(matrix, Point{box.right, box.bottom}), mapped(matrix, Point{box.left, box.bottom})};
  Box result = box;
  result.left = result.right = points[0].x;
  result.top = result.bottom = points[0].y;
  for (const Point& point : points) {
    result.left = std::min(result.left, point.x);
    result.right = std::max(result.right, point.x);
    result.top = std::min(result.top, point.y);
    result.bottom = std::max(result.bottom, point.y);
  }
  return result;
}

RotatedBox mapped(const Matrix23& m, const RotatedBox& box) {
  const float cosine = std::cos(box.angle), sine = std::sin(box.angle);
  const Point centre = mapped(m, Point{box.x, box.y});
  const Point along{m[0] * cosine + m[1] * sine, m[3] * cosine + m[4] * sine};
  const Point across{m[1] * cosine - m[0] * sine, m[4] * cosine - m[3] * sine};
  RotatedBox result = box;
  result.x = centre.x;
  result.y = centre.y;
  result.width = box.width * std::hypot(along.x, along.y);
  result.height = box.height * std::hypot(across.x, across.y);
  result.angle = std::atan2(along.y, along.x);
  return result;
}

Box clipped(const Box& box, float width, float height) {
  Box result = box;
  result.left = std::clamp(box.left, 0.0F, width);
  result.right = std::clamp(box.right, 0.0F, width);
  result.top = std::clamp(box.top, 0.0F, height);
  result.bottom = std::clamp(box.bottom, 0.0F, height);
  return result;
}

RotatedBox regularized(const RotatedBox& box) {
  constexpr float kQuarter = std::numbers::pi_v<float> / 2;
  const float quarters = std::floor(box.angle / kQuarter);
  RotatedBox result = box;
  result.angle = std::clamp(box.angle - quarters * kQuarter, 0.0F, std::nextafter(kQuarter, 0.0F));
  if (std::fmod(quarters, 2.0F) != 0) std::swap(result.width, result.height);
  return result;
}

std::array<Point, 4> corners(const RotatedBox& box) {
  const float cosine = std::cos(box.angle), sine = std::sin(box.angle);
  const Point u{cosine * box.width / 2, sine * box.width / 2};
  const Point v{-sine * box.height / 2, cosine * box.height / 2};
  return {Point{box.x - u.x - v.x, box.y - u.y - v.y}, Point{box.x + u.x - v.x, box.y + u.y - v.y},
          Point{box.x + u.x + v.x, box.y + u.y + v.y}, Point{box.x - u.x + v.x, box.y - u.y + v.y}};
}

}  // namespace tenon::serve
