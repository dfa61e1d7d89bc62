// Axes of extent 1, removed and added.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs: data, axes (constant integers; negative ones count from the end). The axes must have
/// extent 1. Semantics: TensorRT ISqueezeLayer, ONNX Squeeze.
struct Squeeze final : OpOf<Squeeze, LayerType::kSQUEEZE> {
  static constexpr std::string_view kName = "Squeeze";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

/// Inputs: data, axes (constant integers) of the output. Semantics: TensorRT IUnsqueezeLayer, ONNX
/// Unsqueeze.
struct Unsqueeze final : OpOf<Unsqueeze, LayerType::kUNSQUEEZE> {
  static constexpr std::string_view kName = "Unsqueeze";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
