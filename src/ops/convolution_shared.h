// What convolution and deconvolution share: attributes, checks, and the reference's loops.
#pragma once

#include <vector>

#include "base/function_ref.h"
#include "network/op.h"
#include "ops/pointwise_program.h"
#include "ops/reference.h"
#include "ops/window.h"

namespace tenon {

struct ConvolutionAttributes {
  int64_t output_maps = 0;
  Shape kernel, stride, dilation, pre_padding, post_padding;  // one entry per spatial axis
  nvinfer1::PaddingMode padding_mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN;
  int64_t groups = 1;
  PointwiseProgram epilogue;

  void visit_attributes(FieldVisitor& v);
  /// One per spatial axis. Throws when the attributes are out of their ranges.
  std::vector<Window> windows() const;
};

/// The shape rule. The kernel is (K,C/groups,kernel…), or (C,K/groups,kernel…) when `transposed`;
/// `extent` gives that of the result along a spatial axis (0 is the first).
void infer_convolution(Inference& c, const ConvolutionAttributes& op, bool transposed,
                       FunctionRef<Dim(size_t axis, Dim in, const Window&)> extent);

/// Computes output 0; `resolve` gives the window of a spatial axis for the extents there.
void run_convolution(
    const ReferenceCall& call, const ConvolutionAttributes& op, bool transposed,
    FunctionRef<Window(size_t axis, const Window&, int64_t in, int64_t out)> resolve);

}  // namespace tenon
