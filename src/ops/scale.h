// Affine scale with an exponent: (x * scale + shift) ^ power.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs: data, shift, scale, power; the last three optional weights of 1 (kUNIFORM), C (kCHANNEL,
/// along `channel_axis`) or C*spatial (kELEMENTWISE) elements.
/// They are of the data's type or float32; the arithmetic is in float32.
struct Scale final : OpOf<Scale, LayerType::kSCALE> {
  static constexpr std::string_view kName = "Scale";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kByAttributes,
                                  .implicit_batch = ImplicitBatch::kMovesAxes,
                                  .work = Work::kCounted};
  nvinfer1::ScaleMode mode = nvinfer1::ScaleMode::kUNIFORM;
  int32_t channel_axis = 1;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  std::optional<nvinfer1::WeightsRole> weights_role(size_t input) const override;
  Magnitude magnitude(const Node& node, DataType type) const override;
  void insert_batch_axis(int32_t largest_batch) override;
  double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
