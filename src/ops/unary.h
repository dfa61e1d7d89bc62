// Unary operations.
#pragma once

#include "network/op.h"

namespace tenon {

struct Unary final : OpOf<Unary, LayerType::kUNARY> {
  static constexpr std::string_view kName = "Unary";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kNamesNoAxes,
                                  .work = Work::kPerElement};
  nvinfer1::UnaryOperation operation = nvinfer1::UnaryOperation::kABS;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
