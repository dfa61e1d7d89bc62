// Quantisation and its inverse, as several operators are made of them.
#pragma once

#include "import/node.h"

namespace tenon {

/// (x - zero) * scale, in float32; one scale for all.
Value& dequantized(NodeContext& n, Value& x, Value& scale, Value* zero);
/// x / scale + zero of that type, rounded and saturated; one scale for all.
Value& quantized(NodeContext& n, Value& x, Value& scale, Value* zero, DataType type);

/// To uint8 by the least and the largest element: ONNX DynamicQuantizeLinear.
struct DynamicallyQuantized {
  Value *values, *scale, *zero;
};
DynamicallyQuantized quantized_dynamically(NodeContext& n, Value& x);

}  // namespace tenon
