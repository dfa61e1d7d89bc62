// Maxima put back to where they came from.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs: maxima (N, C, spatial…) and their places (int32 or int64, of the same shape): positions
/// in the flattened result, which is 0 elsewhere. The attributes are those of the pooling that is
/// undone. Semantics: ONNX MaxUnpool without an output shape.
struct MaxUnpool final : OpOf<MaxUnpool, layer_type(PrivateLayer::kMaxUnpool)> {
  static constexpr std::string_view kName = "MaxUnpool";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  Shape window, stride, pre_padding, post_padding;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
