// What rounded weights add to a product's results on average.
#pragma once

#include <span>
#include <vector>

#include "base/shape.h"

namespace tenon {

/// How a product's weights are to be seen: an output channel for each index of `axis`, and the
/// data's channels that elements multiply.
struct ProductWeights {
  std::span<const float> values;
  Shape shape;
  int axis;            // of output channels
  int depth_axis;      // of the data's channels, or of a group's
  int64_t groups = 1;  // of a convolution, along the output channels
};

/// The mean error of each output channel: (w' - w) * mean(x), summed over what the channel reads,
/// where w' are the weights in int8 with these scales. Taken from the bias, it makes results right
/// on average; borders count as if the data went on.
///
/// Nagel, van Baalen, Blankevoort, Welling: "Data-Free Quantization Through Weight Equalization and
/// Bias Correction", ICCV 2019, section 4.2, with means that were measured.
/// @param scales one for each output channel, or one for all.
/// @param means of the data's channels, of all groups.
std::vector<float> mean_errors(const ProductWeights& weights, std::span<const float> scales,
                               std::span<const float> means);

}  // namespace tenon
