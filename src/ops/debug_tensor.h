// A tensor that a debug listener may be told of while the network runs.
#pragma once

#include "network/op.h"

namespace tenon {

/// Input: any tensor. No outputs, and nothing is computed: a context calls its listener with the
/// elements. As a user of the tensor, the layer keeps it from being fused away. Semantics: TensorRT
/// INetworkDefinition::markDebug.
struct DebugTensor final : OpOf<DebugTensor, layer_type(PrivateLayer::kDebugTensor)> {
  static constexpr std::string_view kName = "DebugTensor";
  static constexpr Traits kTraits{.runs = Runs::kListener,
                                  .reduced_precision = ReducedPrecision::kOwnTypes,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kNamesNoAxes,
                                  .work = Work::kNone};
  std::string tensor;  // its name in the network as it was defined

  int output_count() const override { return 0; }
  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
