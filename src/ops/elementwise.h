// Binary operations with broadcasting.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs: two tensors of equal type and rank; extents are equal or one of them is 1. The operation
/// may be a PrivateOperation.
struct ElementWise final : OpOf<ElementWise, LayerType::kELEMENTWISE> {
  static constexpr std::string_view kName = "ElementWise";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kNamesNoAxes,
                                  .work = Work::kPerElement};
  nvinfer1::ElementWiseOperation operation = nvinfer1::ElementWiseOperation::kSUM;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
