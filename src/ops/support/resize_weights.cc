#include "ops/support/resize_weights.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tenon {

using nvinfer1::InterpolationMode;
using nvinfer1::ResizeCoordinateTransformation;
using nvinfer1::ResizeRoundMode;
using nvinfer1::ResizeSelector;

double coordinate(const Resize& op, const AxisResize& axis, int64_t position) {
  const auto x = static_cast<double>(position), last = static_cast<double>(axis.in - 1);
  const auto steps = static_cast<double>(axis.out - 1);
  const bool single = axis.out == 1;
  const bool crops =
      static_cast<PrivateCoordinates>(op.coordinates) == PrivateCoordinates::kTfCropAndResize;
  if (axis.in == axis.out && axis.scale == 1 && !crops) return x;  // also where the rule shifts it
  if (single && op.selector == ResizeSelector::kUPPER) return 0;
  switch (op.coordinates) {
    case ResizeCoordinateTransformation::kALIGN_CORNERS:
      return single ? 0 : x * last / steps;
    case ResizeCoordinateTransformation::kASYMMETRIC:
      return x / axis.scale;
    case ResizeCoordinateTransformation::kHALF_PIXEL:
      return (x + 0.5) / axis.scale - 0.5;
  }
  switch (static_cast<PrivateCoordinates>(op.coordinates)) {
    case PrivateCoordinates::kPytorchHalfPixel:
      return single ? 0 : (x + 0.5) / axis.scale - 0.5;
    case PrivateCoordinates::kTfHalfPixelForNearest:
      return (x + 0.5) / axis.scale;
    case PrivateCoordinates::kTfCropAndResize:
      return single ? 0.5 * (axis.roi_start + axis.roi_end) * last
                    : axis.roi_start * last + x * (axis.roi_end - axis.roi_start) * last / steps;
    case PrivateCoordinates::kHalfPixelSymmetric: {
      // The exact output extent in*scale may not be whole: the rest is shared between both ends.
      const auto in = static_cast<double>(axis.in);
      const double adjustment = static_cast<double>(axis.out) / (axis.scale * in);
      return in / 2 * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
    }
  }
  fail(ErrorCode::kINVALID_ARGUMENT, "unknown coordinate transformation {}",
       static_cast<int32_t>(op.coordinates));
}

// A table for each axis is made before the first run: a few bytes of a model must not make it huge.
static void check_length(const AxisResize& axis) {
  require(axis.out <= 1 << 25, "an axis of {} elements is too long to be resized", axis.out);
}

std::vector<int64_t> nearest_positions(const Resize& op, const AxisResize& axis) {
  check_length(axis);
  std::vector<int64_t> positions;
  for (int64_t x = 0; x < axis.out; ++x) {
    const double at = coordinate(op, axis, x);
    double rounded = 0;
    switch (op.rounding) {
      case ResizeRoundMode::kHALF_UP:
        rounded = std::floor(at + 0.5);
        break;
      case ResizeRoundMode::kHALF_DOWN:
        rounded = std::ceil(at - 0.5);
        break;
      case ResizeRoundMode::kFLOOR:
        rounded = std::floor(at);
        break;
      case ResizeRoundMode::kCEIL:
        rounded = std::ceil(at);
        break;
    }
    positions.push_back(
        static_cast<int64_t>(std::clamp(rounded, 0.0, static_cast<double>(axis.in - 1))));
  }
  return positions;
}

namespace {

double triangle(double x) {
  return std::max(0.0, 1 - std::fabs(x));
}

double cubic(double x, double a) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

}  // namespace

AxisTaps interpolation_taps(const Resize& op, const AxisResize& axis) {
  check_length(axis);
  const bool linear = op.mode == InterpolationMode::kLINEAR;
  // When shrinking, antialiasing stretches the filter over all input elements that one output
  // covers.
  const double squeeze = op.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double support = (linear ? 1 : 2) / squeeze;
  require(support < 1 << 24, "the scale {} is too small for an antialiasing filter", axis.scale);
  AxisTaps taps(static_cast<size_t>(axis.out));
  for (int64_t x = 0; x < axis.out; ++x) {
    // Farther outside than the filter reaches, all positions repeat an edge.
    const double at =
        std::clamp(coordinate(op, axis, x), -support - 1, static_cast<double>(axis.in) + support);
    auto& list = taps[static_cast<size_t>(x)];
    double total = 0;
    const auto first = static_cast<int64_t>(std::floor(at - support)) + 1;
    const auto last = static_cast<int64_t>(std::ceil(at + support)) - 1;
    for (int64_t p = first; p <= last; ++p) {
      const double distance = (static_cast<double>(p) - at) * squeeze;
      const double weight = linear ? triangle(distance) : cubic(distance, op.cubic_coefficient);
      const bool outside = p < 0 || p >= axis.in;
      if (weight == 0 || (outside && op.exclude_outside)) continue;
      total += weight;
      const int64_t inside = std::clamp<int64_t>(p, 0, axis.in - 1);
      if (!list.empty() && list.back().position == inside)
        list.back().weight += weight;
      else
        list.push_back({inside, weight});
    }
    const bool normalise = (op.antialias || op.exclude_outside) && total != 0;
    for (Tap& tap : list) tap.weight /= normalise ? total : 1;
  }
  return taps;
}

bool is_identity(const AxisTaps& taps, const AxisResize& axis) {
  if (axis.in != axis.out) return false;
  for (int64_t x = 0; x < axis.out; ++x) {
    const auto& list = taps[static_cast<size_t>(x)];
    if (list.size() != 1 || list[0].position != x || list[0].weight != 1) return false;
  }
  return true;
}

}  // namespace tenon
