// A copy of a tensor.
#pragma once

#include "network/op.h"

namespace tenon {

struct Identity final : OpOf<Identity, LayerType::kIDENTITY> {
  static constexpr std::string_view kName = "Identity";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kNamesNoAxes,
                                  .work = Work::kNone};

  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
