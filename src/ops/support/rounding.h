// How results become quantised integers.
#pragma once

#include <cstdint>

#include "base/half.h"
#include "base/tensor.h"
#include "network/op.h"
#include "ops/quantize.h"

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

/// The bounds of a quantised result, both included, which lie within those of its type: what a ReLU
/// or Clip behind the layer leaves. Equal ones mean those of the type.
struct ResultBounds {
  int64_t lowest = 0, highest = 0;

  bool used() const { return lowest != highest; }
  void visit(FieldVisitor& v);
  /// Throws unless they are bounds of that type, or not used.
  void check(DataType to) const;
  /// Of int8 and uint8.
  IntegerRange of(DataType to) const;
};

/// What becomes of sums of products of integers: sum * scale + shift; for a quantised type rounded,
/// plus a zero point, within the bounds. For int32 it is the sum itself.
struct Requantization {
  DataType to = DataType::kINT32;
  const float* scale = nullptr;
  const float* shift = nullptr;
  int64_t step = 0;  // between scales, and shifts, of neighbouring sums; 0 or 1
  float zero = 0;
  ResultBounds bounds = {};

  /// Element i of `to` comes from sum i. Any of float32, float16, bfloat16, int32, int8, uint8.
  void store(const int32_t* sums, int64_t count, void* to) const;
};

}  // namespace tenon
