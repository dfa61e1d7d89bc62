// The fully connected layer of TensorRT 8.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs: data (…,C,H,W) of which the last three axes are flattened, kernel (outputs, C*H*W) or
/// its elements in that order, bias (outputs) optional. Output: (…,outputs,1,1).
struct FullyConnected final : OpOf<FullyConnected, layer_type(PrivateLayer::kFullyConnected)> {
  static constexpr std::string_view kName = "FullyConnected";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOrdinary,
                                  .implicit_batch = ImplicitBatch::kCountsFromLast,
                                  .work = Work::kProducts};
  int64_t outputs = 0;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  std::optional<nvinfer1::WeightsRole> weights_role(size_t input) const override;
  int min_rank(size_t input) const override;
  double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
