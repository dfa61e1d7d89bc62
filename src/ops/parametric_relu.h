// A leaky ReLU whose slopes are a tensor.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs: data; slopes of the data's type, which broadcast to it (same rank, extents equal or 1).
/// y = x < 0 ? slope * x : x. Semantics: TensorRT IParametricReLULayer, ONNX PRelu.
struct ParametricRelu final : OpOf<ParametricRelu, LayerType::kPARAMETRIC_RELU> {
  static constexpr std::string_view kName = "ParametricRelu";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kNamesNoAxes,
                                  .work = Work::kNone};

  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
