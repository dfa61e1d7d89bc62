// Maxima of the bins of regions.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs: data (N, C, H, W); regions (count, 5) as batch element, x1, y1, x2, y2. Output: (count,
/// C, height, width). Semantics: ONNX MaxRoiPool; bins outside of the data give 0, and
/// a NaN is the maximum of its bin.
struct MaxRoiPool final : OpOf<MaxRoiPool, layer_type(PrivateLayer::kMaxRoiPool)> {
  static constexpr std::string_view kName = "MaxRoiPool";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kFirstInput,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  int64_t height = 1, width = 1;
  float spatial_scale = 1;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
