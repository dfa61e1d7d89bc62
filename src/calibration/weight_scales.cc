#include "calibration/weight_scales.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "calibration/range_search.h"

namespace tenon {

std::vector<float> weight_scales(const std::string& name, const Tensor& weights, const Shape& shape,
                                 int axis) {
  constexpr float kSmallest = 0x1p-100F;
  std::vector<float> scales(axis < 0 ? 1 : static_cast<size_t>(shape[axis]));
  const auto* values = weights.data<float>();
  for (size_t i = 0; i < static_cast<size_t>(weights.count()); ++i) {
    const float magnitude = std::fabs(values[i]);
    require(std::isfinite(magnitude), "weights '{}' hold NaN or infinity at element {}", name, i);
    float& largest = scales[weight_channel(shape, axis, i)];
    largest = std::max(largest, magnitude);
  }
  for (float& scale : scales) scale = scale > kSmallest ? scale / kLargestInt8 : 1;
  return scales;
}

}  // namespace tenon
