// A change of memory layout, put between layers by the planner.
#pragma once

#include "base/layout.h"
#include "network/op.h"

namespace tenon {

/// The tensor is the same, only its layout differs; the reference copies.
struct Reorder final : OpOf<Reorder, layer_type(PrivateLayer::kReorder)> {
  static constexpr std::string_view kName = "Reorder";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  Layout from = Layout::kLinear, to = Layout::kLinear;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
