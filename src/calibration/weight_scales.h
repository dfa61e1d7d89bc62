// Scales of constant weights.
#pragma once

#include <string>
#include <vector>

#include "base/tensor.h"

namespace tenon {

/// max|w| / 127 for each position along `axis` of `shape`, in which the weights are seen, or one
/// for all where the axis is -1. Channels of zeros, or of numbers below 2^-100, have the scale 1.
/// Throws Error, naming the weights, where they hold NaN or infinity.
/// @param weights float32 elements.
std::vector<float> weight_scales(const std::string& name, const Tensor& weights, const Shape& shape,
                                 int axis);

/// Which of these scales element i has.
inline size_t weight_channel(const Shape& shape, int axis, size_t i) {
  if (axis < 0) return 0;
  const auto inner = static_cast<size_t>(shape.volume(axis + 1, shape.rank()));
  return i / inner % static_cast<size_t>(shape[axis]);
}

}  // namespace tenon
