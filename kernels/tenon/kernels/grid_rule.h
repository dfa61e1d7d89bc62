/// What sampling at positions of a grid is given: the rule, the tensors, and where coordinates are.
#pragma once

#include "tenon/plugin/device.h"

namespace tenon::kernels::inline TENON_TARGET {

enum class GridInterpolation { kLinear = 0, kNearest = 1, kCubic = 2 };
enum class GridPadding { kZeros = 0, kBorder = 1, kReflection = 2 };

struct GridRule {
  GridInterpolation interpolation = GridInterpolation::kLinear;
  GridPadding padding = GridPadding::kZeros;
  bool align_corners = false;  // whether -1 and 1 are centres of elements, or their outer edges
};

/// Tensors of a call.
template <class E> struct GridCall {
  const E* x;     // (images, channels, depth, height, width); images have depth 1
  const E* grid;  // (images, pixels, 2 or 3): x, y or x, y, z from -1 to 1
  E* y;           // (images, channels, pixels)
  int64_t images, channels, depth, height, width, pixels;
};

/// Where a coordinate is on an axis; elements have their centres at whole numbers.
TENON_HD inline float grid_position(const GridRule& rule, float coordinate, int64_t extent) {
  const auto size = static_cast<float>(extent);
  const float at =
      rule.align_corners ? (coordinate + 1) / 2 * (size - 1) : ((coordinate + 1) * size - 1) / 2;
  // Farther away all is outside, and so is what is not a number; conversions stay defined.
  constexpr float kFar = 1e9f;
  return at > -kFar ? (at < kFar ? at : kFar) : -kFar;
}

}  // namespace tenon::kernels::inline TENON_TARGET
