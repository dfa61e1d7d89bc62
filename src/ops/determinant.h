// Determinants of square matrices.
#pragma once

#include "network/op.h"

namespace tenon {

/// Input: matrices (…, n, n). Output: (…). Computed in double. Semantics: ONNX Det.
struct Determinant final : OpOf<Determinant, layer_type(PrivateLayer::kDeterminant)> {
  static constexpr std::string_view kName = "Determinant";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};

  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
