// Concatenation along one axis.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs of one type that agree but along the axis, one behind the other. Semantics: TensorRT
/// IConcatenationLayer, ONNX Concat. An input may lie in the output at its place already: kernels
/// leave it there (plan/in_place_slices.h).
struct Concatenation final : OpOf<Concatenation, LayerType::kCONCATENATION> {
  static constexpr std::string_view kName = "Concatenation";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kMovesAxes,
                                  .work = Work::kNone};
  int32_t axis = 0;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void insert_batch_axis(int32_t largest_batch) override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
