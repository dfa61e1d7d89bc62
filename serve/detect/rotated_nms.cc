#include <cfloat>
#include <cmath>

#include "guard.h"
#include "suppress.h"
#include "tenon/kernels/rotated_boxes.h"
#include "tenon/serve/nms.h"

namespace tenon::serve {
namespace {

// A box as the normal distribution of a point that is anywhere in it with the same likelihood.
struct Gaussian {
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0, determinant = 0;
  double spread = 0;  // the larger of the two variances along its axes

  explicit Gaussian(const RotatedBox& box) : x(box.x), y(box.y) {
    const double along = double{box.width} * box.width / 12;
    const double across = double{box.height} * box.height / 12;
    const double cosine = std::cos(double{box.angle}), sine = std::sin(double{box.angle});
    xx = along * cosine * cosine + across * sine * sine;
    yy = along * sine * sine + across * cosine * cosine;
    xy = (along - across) * cosine * sine;
    determinant = along * across;
    spread = std::max(along, across);
  }
};

bool has_inside(const RotatedBox& box) {
  return box.width > 0 && box.height > 0 && box.width <= FLT_MAX && box.height <= FLT_MAX
         && std::isfinite(box.x) && std::isfinite(box.y) && std::isfinite(box.angle);
}

// The Bhattacharyya distance of two normal distributions.
double distance(const Gaussian& a, const Gaussian& b) {
  const double xx = a.xx + b.xx, yy = a.yy + b.yy, xy = a.xy + b.xy;
  const double dx = a.x - b.x, dy = a.y - b.y, determinant = xx * yy - xy * xy;
  const double of_means = (xx * dy * dy + yy * dx * dx - 2 * xy * dx * dy) / (4 * determinant);
  const double ratio = determinant / (4 * std::sqrt(a.determinant * b.determinant));
  return std::max(0.0, of_means + 0.5 * std::log(ratio));
}

double iou_of(double distance) {
  return 1 - std::sqrt(1 - std::exp(-distance));
}

// As the kernels' KeptRotatedBoxes, one by one.
class KeptGaussians {
 public:
  using Type = RotatedBox;
  struct Memory {
    Gaussian* boxes;
    static Memory carve(kernels::Carver& carver, int64_t kept) {
      return {carver.array<Gaussian>(kept)};
    }
  };

  KeptGaussians(const Memory& memory, int64_t, float threshold)
      : memory_(memory),
        threshold_(threshold),
        // Where the IoU is the threshold; of distant means alone the distance is more.
        reach_(-4 * std::log(1 - (1 - double{threshold}) * (1 - double{threshold})) * 1.001) {}

  bool overlaps(const RotatedBox& box) const {
    if (!has_inside(box)) return false;
    const Gaussian one(box);
    return std::any_of(memory_.boxes, memory_.boxes + count_, [&](const Gaussian& kept) {
      const double dx = kept.x - one.x, dy = kept.y - one.y;
      return dx * dx + dy * dy <= reach_ * (kept.spread + one.spread)
             && iou_of(distance(kept, one)) > threshold_;
    });
  }
  void add(const RotatedBox& box) {
    if (has_inside(box)) memory_.boxes[count_++] = Gaussian(box);
  }

 private:
  Memory memory_;
  double threshold_, reach_;
  int64_t count_ = 0;
};

kernels::RotatedBox as_kernels(const RotatedBox& box) {
  return {box.x, box.y, box.width, box.height, std::cos(box.angle), std::sin(box.angle)};
}

}  // namespace

float probabilistic_iou(const RotatedBox& a, const RotatedBox& b) {
  if (!has_inside(a) || !has_inside(b)) return 0;
  const double d = distance(Gaussian(a), Gaussian(b));
  return std::isnan(d) ? 0.0F : static_cast<float>(iou_of(d));
}

session::Result<std::vector<int64_t>> rotated_nms(std::span<const RotatedBox> boxes,
                                                  const NmsOptions& options,
                                                  RotatedOverlap overlap) noexcept {
  return session::guard([&] {
    if (overlap == RotatedOverlap::kProbabilisticIou)
      return suppressed<KeptGaussians>(boxes, options, [](const RotatedBox& box) { return box; });
    return suppressed<kernels::KeptRotatedBoxes>(boxes, options, as_kernels);
  });
}

}  // namespace tenon::serve
