/// Rotated boxes, what two of them share, and those that were kept so far.
#pragma once

#include <tenon/plugin/device.h>

#include <cfloat>

#include "tenon/kernels/workspace.h"

namespace tenon::kernels::inline TENON_TARGET {

/// A box around (x, y), of which the side of length `width` points to (cosine, sine).
struct RotatedBox {
  float x, y, width, height, cosine, sine;

  TENON_HD float area() const { return width * height; }
  /// NaNs and boxes without an inside overlap nothing.
  TENON_HD bool has_inside() const {
    return width > 0 && height > 0 && area() > 0 && area() <= FLT_MAX && x - x == 0 && y - y == 0
           && cosine - cosine == 0;
  }
};

/// Corners of a polygon with at most eight of them: what is left of a rectangle within another.
struct Polygon {
  float x[8], y[8];
  int count = 0;

  TENON_HD void add(float at_x, float at_y) {
    if (count == 8) return;  // rounding alone can ask for more
    x[count] = at_x;
    y[count++] = at_y;
  }
  /// The part with sign * x <= most, or of y when `upright`.
  TENON_HD Polygon clipped(bool upright, float sign, float bound) const {
    Polygon part;
    const float* const along = upright ? y : x;
    for (int i = 0; i < count; ++i) {
      const int next = i + 1 == count ? 0 : i + 1;
      const float here = sign * along[i] - bound, there = sign * along[next] - bound;
      if (here <= 0) part.add(x[i], y[i]);
      if ((here < 0 && there > 0) || (here > 0 && there < 0)) {
        const float t = here / (here - there);
        part.add(x[i] + t * (x[next] - x[i]), y[i] + t * (y[next] - y[i]));
      }
    }
    return part;
  }
  TENON_HD float area() const {
    float twice = 0;
    for (int i = 1; i + 1 < count; ++i)
      twice += (x[i] - x[0]) * (y[i + 1] - y[0]) - (x[i + 1] - x[0]) * (y[i] - y[0]);
    return (twice < 0 ? -twice : twice) / 2;
  }
};

/// The area that two boxes share: one is cut off along the sides of the other.
TENON_HD inline float common_area(const RotatedBox& a, const RotatedBox& b) {
  // Seen from b: its centre and its sides.
  const float dx = a.x - b.x, dy = a.y - b.y;
  const float x = dx * b.cosine + dy * b.sine, y = dy * b.cosine - dx * b.sine;
  const float cosine = a.cosine * b.cosine + a.sine * b.sine;
  const float sine = a.sine * b.cosine - a.cosine * b.sine;
  const float ux = cosine * a.width / 2, uy = sine * a.width / 2;
  const float vx = -sine * a.height / 2, vy = cosine * a.height / 2;
  Polygon polygon;
  polygon.add(x + ux + vx, y + uy + vy);
  polygon.add(x - ux + vx, y - uy + vy);
  polygon.add(x - ux - vx, y - uy - vy);
  polygon.add(x + ux - vx, y + uy - vy);
  for (const bool upright : {false, true})
    for (const float sign : {1.f, -1.f})
      polygon = polygon.clipped(upright, sign, (upright ? b.height : b.width) / 2);
  return polygon.area();
}

/// What two boxes share, divided by what they cover together, exceeds `threshold`.
TENON_HD inline bool overlap(const RotatedBox& a, const RotatedBox& b, float threshold) {
  const float area_a = a.area(), area_b = b.area();
  // The quotient is no more than that of the areas; beyond the corners nothing is shared.
  if ((area_a < area_b ? area_a : area_b) <= threshold * (area_a < area_b ? area_b : area_a))
    return false;
  const float dx = a.x - b.x, dy = a.y - b.y;
  const float reach = sqrtf(a.width * a.width + a.height * a.height)
                      + sqrtf(b.width * b.width + b.height * b.height);
  if (4 * (dx * dx + dy * dy) >= reach * reach) return false;
  const float common = common_area(a, b);
  return common / (area_a + area_b - common) > threshold;
}

#if defined(__CUDACC__)

/// Whether `box` is dropped after `kept`.
TENON_HD inline bool suppresses(const RotatedBox& kept, const RotatedBox& box, float threshold) {
  return kept.has_inside() && box.has_inside() && overlap(kept, box, threshold);
}

#else

/// As KeptBoxes, one by one.
class KeptRotatedBoxes {
 public:
  using Type = RotatedBox;
  struct Memory {
    RotatedBox* boxes;
    static Memory carve(Carver& carver, int64_t kept) { return {carver.array<RotatedBox>(kept)}; }
  };

  KeptRotatedBoxes(const Memory& memory, int64_t, float threshold)
      : memory_(memory), threshold_(threshold) {}

  bool overlaps(const RotatedBox& box) const {
    return box.has_inside()
           && std::any_of(memory_.boxes, memory_.boxes + count_,
                          [&](const auto& kept) { return overlap(kept, box, threshold_); });
  }
  void add(const RotatedBox& box) {
    if (box.has_inside()) memory_.boxes[count_++] = box;
  }

 private:
  Memory memory_;
  float threshold_;
  int64_t count_ = 0;
};

#endif

/// Boxes of (images, boxes, classes or 1, 5): centre, width, height, angle in radians.
template <class E> struct RotatedBoxTensor {
#if !defined(__CUDACC__)
  using Kept = KeptRotatedBoxes;
#endif

  const E* boxes;
  int64_t count, classes;  // of an image; one class serves all

  TENON_HD const E* stored(int64_t image, int64_t box, int64_t kind) const {
    return boxes + ((image * count + box) * classes + (classes == 1 ? 0 : kind)) * 5;
  }
  TENON_HD RotatedBox operator()(int64_t image, int64_t box, int64_t kind) const {
    const E* const at = stored(image, box, kind);
    const auto angle = static_cast<float>(at[4]);
    return {static_cast<float>(at[0]),
            static_cast<float>(at[1]),
            static_cast<float>(at[2]),
            static_cast<float>(at[3]),
            cosf(angle),
            sinf(angle)};
  }
};

}  // namespace tenon::kernels::inline TENON_TARGET
