// Activation functions.
#pragma once

#include "network/op.h"

namespace tenon {

/// Input: any float tensor. alpha and beta as TensorRT defines them for each type (kCLIP: the
/// bounds).
struct Activation final : OpOf<Activation, LayerType::kACTIVATION> {
  static constexpr std::string_view kName = "Activation";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kNamesNoAxes,
                                  .work = Work::kPerElement};
  nvinfer1::ActivationType type = nvinfer1::ActivationType::kRELU;
  float alpha = 0, beta = 0;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
