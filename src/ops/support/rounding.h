// How results become quantised integers.
#pragma once

#include <cstdint>

#include "base/half.h"
#include "base/tensor.h"

namespace tenon {

/// x within [low, high], rounded to the nearest whole number, ties to even; NaN becomes low, as in
/// ONNX Runtime. The bounds are whole and smaller than 2^22, so that adding and taking away a large
/// number rounds.
inline float rounded(float x, float low, float high) {
  constexpr float kRounds = 12582912;
  x = x > low ? x : low;
  x = x < high ? x : high;
  return (x + kRounds) - kRounds;
}

/// What becomes of sums of products of integers: sum * scale + shift; for a quantised type rounded,
/// plus a zero point, saturated. For int32 it is the sum itself.
struct Requantization {
  DataType to = DataType::kINT32;
  const float* scale = nullptr;
  const float* shift = nullptr;
  int64_t step = 0;  // between scales, and shifts, of neighbouring sums; 0 or 1
  float zero = 0;

  /// Element i of `to` comes from sum i. Any of float32, int32, int8, uint8.
  void store(const int32_t* sums, int64_t count, void* to) const;
};

}  // namespace tenon
