// Softmax along one axis.
#pragma once

#include "network/op.h"

namespace tenon {

/// `axes` is a bit mask with exactly one bit set, as in TensorRT. Semantics: ONNX Softmax-13.
struct Softmax final : OpOf<Softmax, LayerType::kSOFTMAX> {
  static constexpr std::string_view kName = "Softmax";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOrdinary,
                                  .implicit_batch = ImplicitBatch::kMovesAxes,
                                  .work = Work::kCounted};
  uint32_t axes = 1u << 1;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void insert_batch_axis(int32_t largest_batch) override;
  double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
