// The element-wise program that runs on the result of a convolution, deconvolution or matrix
// product.
#pragma once

#include "network/op.h"
#include "ops/pointwise_program.h"

namespace tenon {

/// Throws unless the inputs from `first` on are the operands of `epilogue` for a result of shape
/// `dims`: of the type of the data, of equal rank, broadcasting to it.
void check_epilogue(Inference& c, const PointwiseProgram& epilogue, int first, const Dims& dims);

/// Runs it over output 0, if there is one.
void run_epilogue(const PointwiseProgram& epilogue, const ReferenceCall& call, size_t first);

}  // namespace tenon
