#include "ops/support/resize_weights.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tenon {

using nvinfer1::InterpolationMode;
using nvinfer1::ResizeCoordinateTransformation;
using nvinfer1::ResizeRoundMode;
using nvinfer1::ResizeSelector;

AxisResize axis_resize(const Shape& in, const Shape& out, std::span<const float> scales, int i) {
  AxisResize a;
  a.in = in[i];
  a.out = out[i];
  require(a.in > 0 || a.out == 0, "axis {}: cannot resize 0 elements to {}", i, a.out);
  a.is_ratio = scales.empty();
  a.scale = a.is_ratio ? static_cast<double>(a.out) / static_cast<double>(a.in)
                       : double{scales[static_cast<size_t>(i)]};
  require((a.scale > 0 && std::isfinite(a.scale)) || a.out == 0,
          "axis {}: expected a positive scale, found {}", i, a.scale);
  return a;
}

namespace {

bool crops_region(const Resize& op) {
  return static_cast<PrivateCoordinates>(op.coordinates) == PrivateCoordinates::kTfCropAndResize;
}

template <class Real> Real coordinate_in(const Resize& op, const AxisResize& axis, int64_t x) {
  const auto at = static_cast<Real>(x), last = static_cast<Real>(axis.in - 1);
  const auto steps = static_cast<Real>(axis.out - 1), scale = static_cast<Real>(axis.scale);
  const auto half = static_cast<Real>(0.5);
  const bool single = axis.out == 1;
  if (axis.in == axis.out && axis.scale == 1 && !crops_region(op)) return at;  // also where shifted
  if (single && op.selector == ResizeSelector::kUPPER) return 0;
  switch (op.coordinates) {
    case ResizeCoordinateTransformation::kALIGN_CORNERS:
      return single ? 0 : at * last / steps;
    case ResizeCoordinateTransformation::kASYMMETRIC:
      return at / scale;
    case ResizeCoordinateTransformation::kHALF_PIXEL:
      return (at + half) / scale - half;
  }
  switch (static_cast<PrivateCoordinates>(op.coordinates)) {
    case PrivateCoordinates::kPytorchHalfPixel:
      return single ? 0 : (at + half) / scale - half;
    case PrivateCoordinates::kTfHalfPixelForNearest:
      return (at + half) / scale;
    case PrivateCoordinates::kTfCropAndResize: {
      const auto start = static_cast<Real>(axis.roi_start), end = static_cast<Real>(axis.roi_end);
      return single ? half * (start + end) * last
                    : start * last + at * (end - start) * last / steps;
    }
    case PrivateCoordinates::kHalfPixelSymmetric: {
      // The exact output extent in*scale may not be whole: the rest is shared between both ends.
      const auto in = static_cast<Real>(axis.in);
      const Real adjustment = static_cast<Real>(axis.out) / (scale * in);
      return in / 2 * (1 - adjustment) + (at + half) / scale - half;
    }
  }
  fail(ErrorCode::kINVALID_ARGUMENT, "unknown coordinate transformation {}",
       static_cast<int32_t>(op.coordinates));
}

}  // namespace

double coordinate(const Resize& op, const AxisResize& axis, int64_t x) {
  return coordinate_in<double>(op, axis, x);
}

// A table for each axis is made before the first run: a few bytes of a model must not make it huge.
// Fractions of such extents fit 64 bits, too.
static void check_length(const AxisResize& axis) {
  require(axis.out <= 1 << 25, "an axis of {} elements is too long to be resized", axis.out);
  require(axis.in <= int64_t{1} << 34, "an axis of {} elements is too long to be resized", axis.in);
}

namespace {

/// With a positive denominator.
struct Fraction {
  int64_t numerator, denominator;

  int64_t floor() const { return numerator / denominator - (numerator % denominator < 0 ? 1 : 0); }
  Fraction plus_half() const { return {2 * numerator + denominator, 2 * denominator}; }
  Fraction negative() const { return {-numerator, denominator}; }
};

int64_t nearest(const Fraction& x, ResizeRoundMode mode, int64_t last) {
  const int64_t whole = mode == ResizeRoundMode::kHALF_UP     ? x.plus_half().floor()
                        : mode == ResizeRoundMode::kHALF_DOWN ? -x.negative().plus_half().floor()
                        : mode == ResizeRoundMode::kFLOOR     ? x.floor()
                                                              : -x.negative().floor();
  return std::clamp<int64_t>(whole, 0, last);
}

template <class Real> int64_t nearest(Real x, ResizeRoundMode mode, int64_t last) {
  const auto half = static_cast<Real>(0.5);
  const Real whole = mode == ResizeRoundMode::kHALF_UP     ? std::floor(x + half)
                     : mode == ResizeRoundMode::kHALF_DOWN ? std::ceil(x - half)
                     : mode == ResizeRoundMode::kFLOOR     ? std::floor(x)
                                                           : std::ceil(x);
  return static_cast<int64_t>(std::clamp<Real>(whole, 0, static_cast<Real>(last)));
}

/// coordinate() where the scale is the ratio of the extents.
Fraction exact_coordinate(const Resize& op, const AxisResize& axis, int64_t x) {
  const bool single = axis.out == 1;
  if (axis.in == axis.out) return {x, 1};
  if (single && op.selector == ResizeSelector::kUPPER) return {0, 1};
  const Fraction center{(2 * x + 1) * axis.in, 2 * axis.out};
  const Fraction half_pixel{center.numerator - axis.out, center.denominator};
  switch (op.coordinates) {
    case ResizeCoordinateTransformation::kALIGN_CORNERS:
      return single ? Fraction{0, 1} : Fraction{x * (axis.in - 1), axis.out - 1};
    case ResizeCoordinateTransformation::kASYMMETRIC:
      return {x * axis.in, axis.out};
    case ResizeCoordinateTransformation::kHALF_PIXEL:
      return half_pixel;
  }
  const auto own = static_cast<PrivateCoordinates>(op.coordinates);
  if (own == PrivateCoordinates::kTfHalfPixelForNearest) return center;
  return single && own == PrivateCoordinates::kPytorchHalfPixel ? Fraction{0, 1} : half_pixel;
}

}  // namespace

std::vector<int64_t> nearest_positions(const Resize& op, const AxisResize& axis) {
  check_length(axis);
  constexpr int64_t kExactInFloat = 1 << 24;
  const bool is_exact = axis.is_ratio && !crops_region(op);
  const bool is_float = !crops_region(op) && std::max(axis.in, axis.out) <= kExactInFloat;
  const int64_t last = axis.in - 1;
  const auto position = [&](int64_t x) {
    if (is_exact) return nearest(exact_coordinate(op, axis, x), op.rounding, last);
    return is_float ? nearest(coordinate_in<float>(op, axis, x), op.rounding, last)
                    : nearest(coordinate_in<double>(op, axis, x), op.rounding, last);
  };
  std::vector<int64_t> positions;
  for (int64_t x = 0; x < axis.out; ++x) positions.push_back(position(x));
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
