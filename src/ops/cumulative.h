// Running sums and products.
#pragma once

#include "network/op.h"

namespace tenon {

/// TensorRT's CumulativeOperation, and what ONNX has beyond it.
enum class CumulativeKind : int32_t { kSum, kProduct };

/// Inputs: data (numbers), axis (an integer tensor of one element; negative ones count from the
/// end). Exclusive: an element does not include itself. Reverse: from the end. Integers wrap;
/// floats of 16 bits are summed in 32. Semantics: TensorRT ICumulativeLayer, ONNX CumSum and
/// CumProd.
struct Cumulative final : OpOf<Cumulative, LayerType::kCUMULATIVE> {
  static constexpr std::string_view kName = "Cumulative";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kLarge,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  CumulativeKind operation = CumulativeKind::kSum;
  bool exclusive = false;
  bool reverse = false;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
  /// The same, where elements of 64 bits are float64.
  void run_float64(const ReferenceCall& call) const;
};

}  // namespace tenon
