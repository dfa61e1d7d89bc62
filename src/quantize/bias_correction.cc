#include "quantize/bias_correction.h"

#include <algorithm>
#include <cmath>

#include "calibration/range_search.h"
#include "calibration/weight_scales.h"

namespace tenon {

std::vector<float> mean_errors(const ProductWeights& weights, std::span<const float> scales,
                               std::span<const float> means) {
  const auto outputs = static_cast<size_t>(weights.shape[weights.axis]);
  const auto depth = static_cast<size_t>(weights.shape[weights.depth_axis]);
  const size_t outputs_per_group = outputs / static_cast<size_t>(weights.groups);
  std::vector<double> sums(outputs);
  for (size_t i = 0; i < weights.values.size(); ++i) {
    const size_t output = weight_channel(weights.shape, weights.axis, i);
    const size_t channel =
        output / outputs_per_group * depth + weight_channel(weights.shape, weights.depth_axis, i);
    const float scale = scales[scales.size() > 1 ? output : 0];
    const float rounded =
        std::clamp(std::nearbyint(weights.values[i] / scale), -kLargestInt8, kLargestInt8) * scale;
    sums[output] += (static_cast<double>(rounded) - weights.values[i]) * means[channel];
  }
  return {sums.begin(), sums.end()};
}

}  // namespace tenon
