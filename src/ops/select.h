// Elements of one of two tensors, by a boolean one.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs: condition (bool), then, else; equal ranks, broadcast. Semantics: ONNX Where.
struct Select final : OpOf<Select, LayerType::kSELECT> {
  static constexpr std::string_view kName = "Select";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kNamesNoAxes,
                                  .work = Work::kNone};

  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
