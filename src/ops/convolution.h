// Convolution over two or three spatial axes, with an optional element-wise epilogue.
#pragma once

#include "ops/support/convolution_shared.h"

namespace tenon {

/// Inputs: data (N,C,spatial…), kernel (K,C/groups,kernel…) or its elements in that order, bias (K)
/// optional, then the operands of the epilogue, whose register 0 is the result of the convolution.
/// Semantics: ONNX Conv.
struct Convolution final : OpOf<Convolution, LayerType::kCONVOLUTION>, ConvolutionAttributes {
  static constexpr std::string_view kName = "Convolution";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOrdinary,
                                  .implicit_batch = ImplicitBatch::kNamesNoAxes,
                                  .work = Work::kProducts};

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  std::optional<nvinfer1::WeightsRole> weights_role(size_t input) const override;
  double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
