#include <cmath>

#include "guard.h"
#include "suppress.h"
#include "tenon/kernels/gaussian_boxes.h"
#include "tenon/kernels/rotated_boxes.h"
#include "tenon/serve/nms.h"

namespace tenon::serve {
namespace {

kernels::GaussianBox as_gaussian(const RotatedBox& box) {
  return kernels::GaussianBox::of(box.x, box.y, box.width, box.height, box.angle);
}

kernels::RotatedBox as_kernels(const RotatedBox& box) {
  return {box.x, box.y, box.width, box.height, std::cos(box.angle), std::sin(box.angle)};
}

}  // namespace

float probabilistic_iou(const RotatedBox& a, const RotatedBox& b) {
  const kernels::GaussianBox x = as_gaussian(a), y = as_gaussian(b);
  if (!x.has_inside || !y.has_inside) return 0;
  return static_cast<float>(kernels::probabilistic_iou(x, y));
}

session::Result<std::vector<int64_t>> rotated_nms(std::span<const RotatedBox> boxes,
                                                  const NmsOptions& options,
                                                  RotatedOverlap overlap) noexcept {
  return session::guard([&] {
    if (overlap == RotatedOverlap::kProbabilisticIou)
      return suppressed<kernels::KeptGaussianBoxes>(boxes, options, as_gaussian);
    return suppressed<kernels::KeptRotatedBoxes>(boxes, options, as_kernels);
  });
}

}  // namespace tenon::serve
