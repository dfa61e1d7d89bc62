// Transposed convolution over two or three spatial axes.
#pragma once

#include "ops/support/convolution_shared.h"

namespace tenon {

/// Inputs: data (N,C,spatial…), kernel (C,K/groups,kernel…) or its elements in that order, bias (K)
/// optional, then the operands of the epilogue. Semantics: ONNX ConvTranspose, whose output_padding
/// is `output_padding`.
struct Deconvolution final : OpOf<Deconvolution, LayerType::kDECONVOLUTION>, ConvolutionAttributes {
  static constexpr std::string_view kName = "Deconvolution";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOrdinary,
                                  .implicit_batch = ImplicitBatch::kNamesNoAxes,
                                  .work = Work::kProducts};
  Shape output_padding;  // empty means zeros; extends the end of each spatial axis

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  std::optional<nvinfer1::WeightsRole> weights_role(size_t input) const override;
  double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
