// Layers of element functions, by kind: what offers and tests of the generated sources share.
#pragma once

#include "cuda/pointwise/element_kernel.h"
#include "ops/support/pointwise_program.h"

namespace tenon::cuda {

/// Statements that compute the program's steps from `x0`, `x1`, … in float; the last step is
/// returned as an expression.
struct ProgramText {
  std::string statements, result;
};
ProgramText text_of(const PointwiseProgram& program);

/// Pointwise, Activation, Unary, ElementWise and Scale of floats, ParametricRelu.
ElementOffer program_layer(const KernelRequest& request);
/// Unary, ElementWise, Activation and Bitwise of integers and booleans.
ElementOffer integer_layer(const KernelRequest& request);
/// Select, Cast, Identity and BitCast.
ElementOffer move_layer(const KernelRequest& request);
/// Quantize and Dequantize.
ElementOffer quantize_layer(const KernelRequest& request);

}  // namespace tenon::cuda
