// The beginning of each sequence of a batch, reversed.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs: data, lengths (one integer for each entry of the batch axis, from 0 to the extent of the
/// sequence axis). Elements after the length stay. Semantics: TensorRT IReverseSequenceLayer, ONNX
/// ReverseSequence.
struct ReverseSequence final : OpOf<ReverseSequence, LayerType::kREVERSE_SEQUENCE> {
  static constexpr std::string_view kName = "ReverseSequence";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  int32_t batch_axis = 1;
  int32_t sequence_axis = 0;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
