// Where along an axis a resized tensor reads, and with what weights: all that kernels of Resize
// need to know about coordinate rules, rounding and filters.
#pragma once

#include <span>
#include <vector>

#include "ops/resize.h"

namespace tenon {

/// One axis of a resize with its concrete extents.
struct AxisResize {
  int64_t in = 1, out = 1;
  double scale = 1;                   // output over input, as the coordinates use it
  bool is_ratio = false;              // the scale is exactly out / in; else it is a float32
  double roi_start = 0, roi_end = 1;  // kTfCropAndResize only
};

/// Axis `i` of a resize from `in` to `out` by these scales, or by the extents where there are none.
/// Throws Error when that cannot be.
AxisResize axis_resize(const Shape& in, const Shape& out, std::span<const float> scales, int i);

/// An input position and its weight in a result.
struct Tap {
  int64_t position;
  double weight;
};

/// The taps of each output position.
using AxisTaps = std::vector<std::vector<Tap>>;

/// The place in the input that output position x stands for, in input elements.
double coordinate(const Resize& op, const AxisResize& axis, int64_t x);

/// For each output position the input position that nearest-neighbour interpolation reads: exact
/// where extents decide, and in float32 where a scale does, as ONNX Runtime has it.
std::vector<int64_t> nearest_positions(const Resize& op, const AxisResize& axis);

/// The taps of linear or cubic interpolation. Positions lie inside the axis, each once.
AxisTaps interpolation_taps(const Resize& op, const AxisResize& axis);

/// Whether the taps copy the axis.
bool is_identity(const AxisTaps& taps, const AxisResize& axis);

}  // namespace tenon
