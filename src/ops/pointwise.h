// A chain of element-wise operations that the optimizer fused into one loop.
#pragma once

#include "network/op.h"
#include "ops/support/pointwise_program.h"

namespace tenon {

/// Inputs: the program's inputs, of equal rank and one float type, broadcast.
struct Pointwise final : OpOf<Pointwise, layer_type(PrivateLayer::kPointwise)> {
  static constexpr std::string_view kName = "Pointwise";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kCounted};
  PointwiseProgram program;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
