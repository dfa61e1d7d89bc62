// Gather along an axis, by elements, and N-dimensional.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs: data, indices (int32 or int64; negative ones count from the end). Out-of-range indices
/// are an error that names the index. Semantics: ONNX Gather (kDEFAULT, with batch axes),
/// GatherElements (kELEMENT), GatherND (kND).
struct Gather final : OpOf<Gather, LayerType::kGATHER> {
  static constexpr std::string_view kName = "Gather";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kTakesParts};
  nvinfer1::GatherMode mode = nvinfer1::GatherMode::kDEFAULT;
  int32_t axis = 0;
  int32_t batch_axes = 0;  // TensorRT: nbElementWiseDims

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
