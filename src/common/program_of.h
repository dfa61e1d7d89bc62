// Element-wise layers as programs, for the kernels that run these.
#pragma once

#include "backend/target.h"
#include "ops/scale.h"
#include "ops/support/pointwise_program.h"

namespace tenon {

/// What a Pointwise, Activation, Unary, ElementWise or Scale computes; the program's inputs are the
/// layer's. Empty for other ops, and for a Scale that changes nothing.
PointwiseProgram program_of(const KernelRequest& request);

/// The shape in which a Scale's weights broadcast to data of that shape. Throws when their number
/// does not fit.
Shape aligned_weights(const Scale& scale, const Shape& weights, const Shape& data);

}  // namespace tenon
