// A constant as a layer.
#pragma once

#include "network/op.h"

namespace tenon {

/// Input: the weight that holds the data; output: the same tensor, as a constant.
struct Constant final : OpOf<Constant, LayerType::kCONSTANT> {
  static constexpr std::string_view kName = "Constant";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kOwnTypes,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kMovesAxes,
                                  .work = Work::kNone};
  Shape dimensions;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  std::optional<nvinfer1::WeightsRole> weights_role(size_t input) const override;
  void insert_batch_axis(int32_t largest_batch) override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
