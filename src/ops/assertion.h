// A condition that must hold when the network runs.
#pragma once

#include "network/op.h"

namespace tenon {

/// Input: a bool tensor. No outputs. Where the elements are constants and one is false, the network
/// is refused; otherwise running it fails. The error is `message`. Semantics: TensorRT
/// IAssertionLayer.
struct Assertion final : OpOf<Assertion, LayerType::kASSERTION> {
  static constexpr std::string_view kName = "Assertion";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  std::string message;

  int output_count() const override { return 0; }
  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
