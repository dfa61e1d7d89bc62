// Results that a layer gives as a Quantize behind it would.
#pragma once

#include "network/op.h"
#include "ops/support/rounding.h"

namespace tenon {

/// Bytes rounded(x / scale) + zero, within the bounds, of a result's numbers x; or x / scale in
/// fp8, saturated, without a zero point and bounds.
struct QuantizedBytes {
  bool used = false;
  float scale = 1;
  int32_t zero = 0;
  DataType to = DataType::kINT8;  // or uint8, or fp8
  ResultBounds bounds = {};

  /// `prefix` names the fields.
  void visit(FieldVisitor& v, const std::string& prefix);
  /// Throws unless the type is a byte's, the scale positive and the rest fits the type.
  void check() const;
  /// Of a tensor's numbers; a tensor of the same shape.
  void quantize(const TensorView& from, const TensorView& result) const;
};

}  // namespace tenon
