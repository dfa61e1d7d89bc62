// The element-wise program that runs on the result of a convolution, deconvolution or matrix
// product.
#pragma once

#include "network/op.h"
#include "ops/support/pointwise_program.h"

namespace tenon {

/// Throws unless the inputs from `first` on are as many operands as `epilogue` has, of the type of
/// the data.
void check_epilogue_operands(const Inference& c, const PointwiseProgram& epilogue, int first);
/// Throws unless these operands fit a result of shape `dims`: of equal rank, broadcasting to it.
void check_epilogue(Inference& c, const PointwiseProgram& epilogue, int first, const Dims& dims);

/// Runs it over output 0, if there is one.
void run_epilogue(const PointwiseProgram& epilogue, const ReferenceCall& call, size_t first);

}  // namespace tenon
