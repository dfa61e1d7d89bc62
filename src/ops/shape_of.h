// The shape of a tensor as an int64 tensor.
#pragma once

#include "network/op.h"

namespace tenon {

struct ShapeOf final : OpOf<ShapeOf, LayerType::kSHAPE> {
  static constexpr std::string_view kName = "Shape";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};

  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
