// How generated kernels find an element from its number.
#pragma once

#include <cstdint>

#include "base/shape.h"

namespace tenon::cuda {

/// `Axis` of the prelude: n / extent is (high word of n * factor + n) >> shift for n below 2^31.
struct AxisParameters {
  uint32_t extent, factor, shift, unused;
};

/// Source: Granlund and Montgomery, Division by Invariant Integers using Multiplication, 1994.
/// Throws for more than 2^31 - 1.
AxisParameters axis_parameters(int64_t extent);

/// `Axes` of the prelude: axes from the outermost in, and the elements to skip for a step along
/// each of them. Their volume is below 2^31.
struct AxesParameters {
  uint32_t rank = 0, unused = 0;
  AxisParameters axis[Shape::kMaxRank] = {};
  int64_t stride[Shape::kMaxRank] = {};

  AxesParameters() = default;
  AxesParameters(const Shape& extents, const Shape& strides);
};

}  // namespace tenon::cuda
