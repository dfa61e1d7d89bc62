// The sum of two quantised tensors, quantised again: what stands between the integers of networks
// with residual connections.
#pragma once

#include <cstdint>

#include "ops/support/rounding.h"

namespace tenon {

/// Element i of a tensor of int8 or uint8.
inline int32_t byte_of(const TensorView& view, int64_t i) {
  return view.type == DataType::kINT8 ? int32_t{view.as<int8_t>()[i]} : view.as<uint8_t>()[i];
}

/// A product that is int8 or uint8 already, and an addend of either type, are dequantised, added in
/// float32, and quantised: (product - its zero point) * product_scale + (addend - addend_zero) *
/// addend_scale, divided by `scale`, rounded with ties to even, plus `zero`, within the bounds.
struct QuantizedSum {
  bool used = false;
  float product_scale = 1, addend_scale = 1, scale = 1;
  int32_t addend_zero = 0, zero = 0;
  DataType to = DataType::kINT8;  // or uint8
  ResultBounds bounds = {};

  void visit(FieldVisitor& v);
  /// Element i of `out` from element i of both; `out` may be `product`.
  void run(const TensorView& product, int32_t product_zero, const TensorView& addend, int64_t count,
           void* out) const;
};

}  // namespace tenon
