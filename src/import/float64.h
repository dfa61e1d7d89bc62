// Float64, which TensorRT's DataType lacks. A value of it is an int64 tensor that holds the bits,
// of the ONNX type double: layers that move elements take it as it is, and ops/float64_arithmetic.h
// computes with it. What no such layer is for takes float32 in its place, and gives float32.
#pragma once

#include "import/node.h"

namespace tenon {

/// What a node makes of float64.
enum class Float64Use {
  kNone,      // its inputs have none
  kComputes,  // float64, as the model says
  kRounds,    // float32
};

/// Before a node is imported: brings inputs that are float64 in the model to what it takes. It
/// computes in float64 when its operator can and no input has come by float32.
Float64Use prepare_float64(NodeContext& n);

/// Before a node becomes a plugin: its inputs of float64 are float32.
void round_inputs(NodeContext& n);

/// Where a graph ends whose outputs must be TensorRT's types: float64 as float32.
Item rounded_to_float32(ImportState& state, const std::string& name, Item item);

}  // namespace tenon
