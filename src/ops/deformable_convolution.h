// Convolution whose taps are moved by a tensor: the layer, and the kernel that plugins share.
#pragma once

#include "network/op.h"

namespace tenon {

/// The taps of a kernel along one axis, before they are moved.
struct KernelAxis {
  int64_t taps = 1, stride = 1, dilation = 1, padding = 0;  // padding before the data
};

/// How taps lie and channels belong together.
struct DeformableConvolutionRule {
  KernelAxis rows, columns;
  int64_t groups = 1;
  int64_t offset_groups = 1;  // channels of one move by the same offsets
};

/// Tensors of a call, all rows first. With taps = kernel height * kernel width:
struct DeformableConvolutionCall {
  const float* x = nullptr;  // (N, C, H, W)
  Shape shape;
  const float* kernel = nullptr;   // (M, C / groups, kernel height, kernel width)
  const float* offsets = nullptr;  // (N, offset groups, taps, 2, height, width): row, column
  const float* bias = nullptr;     // (M), or null
  const float* mask = nullptr;     // (N, offset groups, taps, height, width), or null
  float* y = nullptr;              // (N, M, height, width)
  Shape result;
};

/// Convolves, with bilinear reading at the moved taps and zeros outside.
void deformable_convolution(const DeformableConvolutionRule& rule,
                            const DeformableConvolutionCall& call);

/// Inputs: data, kernel, offsets, and optionally bias and mask, as above (offsets and mask with
/// their middle axes merged). Semantics: ONNX DeformConv-19 of two spatial axes.
struct DeformableConvolution final
    : OpOf<DeformableConvolution, layer_type(PrivateLayer::kDeformableConvolution)> {
  static constexpr std::string_view kName = "DeformableConvolution";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOrdinary,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kCounted};
  Shape stride, dilation, pre_padding, post_padding;
  int64_t groups = 1;
  int64_t offset_groups = 1;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
