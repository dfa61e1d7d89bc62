// How far a tensor is from what is expected.
#ifndef TENON_COMPARE_TENSOR_ERROR_H
#define TENON_COMPARE_TENSOR_ERROR_H

#include <tenon/session/array.h>

#include <cstdint>
#include <limits>

namespace tenon::compare {

/// Differences of a tensor's elements from the expected ones, computed in float64.
struct TensorError {
  int64_t count = 0;        ///< elements
  double largest = 0;       ///< of the absolute differences of elements that are finite in both
  double rms = 0;           ///< root of the mean square of the same
  double expected_rms = 0;  ///< root of the mean square of these expected elements
  double cosine = 1;        ///< of the angle between both as vectors; 1 where one is all zeros
  double range = 0;  ///< largest less least expected element; the largest magnitude where that is 0
  int64_t worst = -1;  ///< where `largest` is, counted in rows; -1 where all are the same
  double found = 0, expected = 0;  ///< the elements there
  int64_t not_finite =
      0;  ///< elements that are NaN or infinite in one, and not the same in the other
  int64_t first_not_finite = -1;

  /// `largest` in parts of the range, infinite with elements that are not finite.
  double of_range() const {
    if (not_finite > 0) return std::numeric_limits<double>::infinity();
    if (largest == 0) return 0;
    return range > 0 ? largest / range : std::numeric_limits<double>::infinity();
  }
};

/// Whether elements are float32, float16 or bfloat16.
bool is_float(nvinfer1::DataType type);

/// The error of `found`. An Error where the shapes differ, or a type has no numbers.
session::Result<TensorError> error_of(const session::Array& found, const session::Array& expected);

}  // namespace tenon::compare

#endif  // TENON_COMPARE_TENSOR_ERROR_H
