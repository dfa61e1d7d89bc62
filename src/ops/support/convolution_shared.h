// What convolution and deconvolution share: attributes, checks, and the reference's loops.
#pragma once

#include <string>
#include <vector>

#include "base/function_ref.h"
#include "network/op.h"
#include "ops/support/pointwise_program.h"
#include "ops/support/reference.h"
#include "ops/support/window.h"

namespace tenon {

struct ConvolutionAttributes {
  int64_t output_channels = 0;
  Shape kernel, stride, dilation, pre_padding, post_padding;  // one entry per spatial axis
  nvinfer1::PaddingMode padding_mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN;
  int64_t groups = 1;
  PointwiseProgram epilogue;

  /// Names start with `prefix`.
  void visit_attributes(FieldVisitor& v, const std::string& prefix = "");
  /// One per spatial axis. Throws when the attributes are out of their ranges.
  std::vector<Window> windows() const;
};

/// Which inputs of a layer a convolution takes beside its data; the operands of the epilogue are
/// those from there on.
struct ConvolutionInputs {
  int kernel = 1, bias = 2, operands = 3;
};

/// Throws unless these inputs are of types that go together, and as many as the epilogue has.
void check_convolution_operands(const Inference& c, const ConvolutionAttributes& op,
                                const ConvolutionInputs& inputs);

/// The extents of the result for such data, of the type of input 0. The kernel is
/// (K,C/groups,kernel…), or (C,K/groups,kernel…) when `transposed`; `extent` gives that of the
/// result along a spatial axis (0 is the first).
Dims convolution_dims(Inference& c, const ConvolutionAttributes& op, const Dims& data,
                      const ConvolutionInputs& inputs, bool transposed,
                      FunctionRef<Dim(size_t axis, Dim in, const Window&)> extent);

/// Sets output 0 of a layer that is nothing but a convolution of input 0.
void infer_convolution(Inference& c, const ConvolutionAttributes& op, bool transposed,
                       FunctionRef<Dim(size_t axis, Dim in, const Window&)> extent);

/// Computes output 0; `resolve` gives the window of a spatial axis for the extents there.
void run_convolution(
    const ReferenceCall& call, const ConvolutionAttributes& op, bool transposed,
    FunctionRef<Window(size_t axis, const Window&, int64_t in, int64_t out)> resolve);

}  // namespace tenon
