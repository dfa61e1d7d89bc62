// A depthwise convolution and a 1x1 convolution of its result, as one layer.
#pragma once

#include "ops/convolution.h"

namespace tenon {

/// The second convolution has one group and windows of one element, without stride and padding.
/// Only its epilogue has operands. Semantics: ONNX Conv, twice.
struct SeparableConvolution final
    : OpOf<SeparableConvolution, layer_type(PrivateLayer::kSeparableConvolution)> {
  static constexpr std::string_view kName = "SeparableConvolution";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kCounted};
  /// Data and constants as of the two layers; from kPointwiseKernel on, inputs are those of the
  /// second one.
  enum Input { kData, kDepthwiseKernel, kDepthwiseBias, kPointwiseKernel, kPointwiseBias };
  static constexpr int kFirstOperand = kPointwiseBias + 1;
  Convolution depthwise, pointwise;

  /// Whether the second convolution is one that this layer can have.
  bool is_pointwise() const;
  /// Of what the first gives, for a result of the layer.
  Shape between(const Shape& result) const;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
