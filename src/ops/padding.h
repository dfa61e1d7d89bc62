// Zeros around the last two axes, or cropping.
#pragma once

#include "network/op.h"

namespace tenon {

/// Input: data of rank 2 or more. `pre` and `post` have two entries, for the last two axes;
/// negative ones crop. Semantics: TensorRT IPaddingLayer.
struct Padding final : OpOf<Padding, LayerType::kPADDING> {
  static constexpr std::string_view kName = "Padding";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kCountsFromLast,
                                  .work = Work::kNone};
  Shape pre{0, 0}, post{0, 0};

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  int min_rank(size_t input) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
