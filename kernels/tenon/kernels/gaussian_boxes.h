/// Rotated boxes as normal distributions, which overlap by their probabilistic IoU (Llerena et al.,
/// 2021): 1 less the Hellinger distance.
#pragma once

#include <tenon/plugin/device.h>

#include <cfloat>
#include <cmath>

#include "tenon/kernels/workspace.h"

namespace tenon::kernels::inline TENON_TARGET {

/// A box as the distribution of a point that is anywhere in it with the same likelihood.
struct GaussianBox {
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0, determinant = 0;
  double spread = 0;  ///< the larger of the two variances along its axes
  /// Boxes without an inside, and those that are not finite, overlap nothing.
  bool has_inside = false;

  /// The side of length `width` points to (cos angle, sin angle).
  TENON_HD static GaussianBox of(float x, float y, float width, float height, float angle) {
    GaussianBox box;
    box.has_inside = width > 0 && height > 0 && width <= FLT_MAX && height <= FLT_MAX && x - x == 0
                     && y - y == 0 && angle - angle == 0;
    if (!box.has_inside) return box;
    const double along = double{width} * width / 12, across = double{height} * height / 12;
    const double cosine = cos(double{angle}), sine = sin(double{angle});
    box.x = x;
    box.y = y;
    box.xx = along * cosine * cosine + across * sine * sine;
    box.yy = along * sine * sine + across * cosine * cosine;
    box.xy = (along - across) * cosine * sine;
    box.determinant = along * across;
    box.spread = along > across ? along : across;
    return box;
  }
};

/// From 0 to 1. Both have an inside.
TENON_HD inline double probabilistic_iou(const GaussianBox& a, const GaussianBox& b) {
  const double xx = a.xx + b.xx, yy = a.yy + b.yy, xy = a.xy + b.xy;
  const double dx = a.x - b.x, dy = a.y - b.y, determinant = xx * yy - xy * xy;
  const double of_means = (xx * dy * dy + yy * dx * dx - 2 * xy * dx * dy) / (4 * determinant);
  const double ratio = determinant / (4 * sqrt(a.determinant * b.determinant));
  // The Bhattacharyya distance.
  const double distance = of_means + 0.5 * log(ratio);
  return 1 - sqrt(1 - exp(-(distance > 0 ? distance : 0)));
}

/// Of two boxes further apart than the root of this times the sum of their spreads, the
/// probabilistic IoU is not above `threshold`, whatever else they are.
TENON_HD inline double gaussian_reach(double threshold) {
  return -4 * log(1 - (1 - threshold) * (1 - threshold)) * 1.001;
}

/// Whether `box` is dropped after `kept`.
/// @param reach gaussian_reach() of the threshold
TENON_HD inline bool suppresses(const GaussianBox& kept, const GaussianBox& box, double threshold,
                                double reach) {
  const double dx = kept.x - box.x, dy = kept.y - box.y;
  return kept.has_inside && box.has_inside
         && dx * dx + dy * dy <= reach * (kept.spread + box.spread)
         && probabilistic_iou(kept, box) > threshold;
}

#if defined(__CUDACC__)

TENON_HD inline bool suppresses(const GaussianBox& kept, const GaussianBox& box, float threshold) {
  return suppresses(kept, box, threshold, gaussian_reach(threshold));
}

#else

/// As KeptBoxes, one by one.
class KeptGaussianBoxes {
 public:
  using Type = GaussianBox;
  struct Memory {
    GaussianBox* boxes;
    static Memory carve(Carver& carver, int64_t kept) { return {carver.array<GaussianBox>(kept)}; }
  };

  KeptGaussianBoxes(const Memory& memory, int64_t, float threshold)
      : memory_(memory), threshold_(threshold), reach_(gaussian_reach(threshold)) {}

  bool overlaps(const GaussianBox& box) const {
    return std::any_of(memory_.boxes, memory_.boxes + count_, [&](const GaussianBox& kept) {
      return suppresses(kept, box, threshold_, reach_);
    });
  }
  void add(const GaussianBox& box) {
    if (box.has_inside) memory_.boxes[count_++] = box;
  }

 private:
  Memory memory_;
  double threshold_, reach_;
  int64_t count_ = 0;
};

#endif

}  // namespace tenon::kernels::inline TENON_TARGET
