// Softmax of rows of different lengths.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs: data (…, rows, elements); lengths (…, rows, 1), int32 or int64: how many elements of
/// each row count. The output is a softmax of these, and 0 behind them. Semantics: TensorRT
/// IRaggedSoftMaxLayer.
struct RaggedSoftmax final : OpOf<RaggedSoftmax, LayerType::kRAGGED_SOFTMAX> {
  static constexpr std::string_view kName = "RaggedSoftmax";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOrdinary,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};

  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
