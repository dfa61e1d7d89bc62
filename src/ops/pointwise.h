// A chain of element-wise operations that the optimizer fused into one loop.
#pragma once

#include "network/op.h"
#include "ops/pointwise_program.h"

namespace tenon {

/// Inputs: the program's inputs, of equal rank and one float type, broadcast.
struct Pointwise final : OpOf<Pointwise, layer_type(PrivateLayer::kPointwise)> {
  static constexpr std::string_view kName = "Pointwise";
  PointwiseProgram program;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
