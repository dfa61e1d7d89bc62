// Indices as vectors that are off but for one element.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs: indices (int32 or int64), values (two elements: off, on), depth (an integer read before
/// the layer runs). The output has an axis of extent `depth` more, and the type of the values.
/// Negative indices count from the end; for indices outside all elements are off. Semantics:
/// TensorRT IOneHotLayer, ONNX OneHot.
struct OneHot final : OpOf<OneHot, LayerType::kONE_HOT> {
  static constexpr std::string_view kName = "OneHot";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  int32_t axis = -1;  // of the output

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
