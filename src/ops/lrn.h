// Normalisation by the neighbouring channels.
#pragma once

#include "network/op.h"

namespace tenon {

/// Input: data (N, C, …). y = x / (bias + alpha / window * sum of x^2 over `window` channels)^beta;
/// of an even window the larger half lies behind. Semantics: ONNX LRN, TensorRT ILRNLayer.
struct Lrn final : OpOf<Lrn, LayerType::kLRN> {
  static constexpr std::string_view kName = "Lrn";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOrdinary,
                                  .implicit_batch = ImplicitBatch::kNamesNoAxes,
                                  .work = Work::kNone};
  int64_t window = 1;
  float alpha = 1e-4f;
  float beta = 0.75f;
  float bias = 1;  // TensorRT: k

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
