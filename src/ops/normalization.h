// Normalisation by mean and variance over some axes: the layer, and the kernel that others share.
#pragma once

#include "network/op.h"
#include "ops/support/quantized_bytes.h"

namespace tenon {

/// How to normalise a tensor.
struct NormalizationRule {
  uint32_t axes = 0;   // mean and variance are taken over these, bit n for axis n
  int64_t groups = 1;  // if not 1, also over the channels (axis 1) of each of so many groups
  float epsilon = 1e-5f;
  bool subtracts_mean = true;  // false: x / sqrt(mean of squares + epsilon)
};

/// A float tensor, rows first, that broadcasts to the input; null data means that there is none.
struct NormalizationParameter {
  const float* data = nullptr;
  Shape shape;  // of the input's rank
};

/// Where results go, rows first; the statistics (one element for each mean) may be null.
struct NormalizationResult {
  float* y = nullptr;
  float* mean = nullptr;
  float* inverse_deviation = nullptr;
};

/// y = (x - mean) / sqrt(variance + epsilon) * scale + bias; y may be x. With groups, scale and
/// bias have one element per channel or per group along axis 1. Sums are exact to float32.
void normalize(const NormalizationRule& rule, const float* x, const Shape& shape,
               const NormalizationParameter& scale, const NormalizationParameter& bias,
               const NormalizationResult& result);

/// Inputs: data; scale and bias (each optional, of the data's rank, broadcast to it; with groups
/// one element per channel or per group along axis 1); with `adds` a tensor of the data's type and
/// shape that is added to it first. Output: of the data's type and shape; with `gives_statistics`
/// also mean and 1/sqrt(variance + epsilon), float32, extent 1 along the axes, and else with `copy`
/// bytes. Computes in float32 whatever `compute_precision` says. Semantics: TensorRT
/// INormalizationLayer, ONNX LayerNormalization, InstanceNormalization, GroupNormalization,
/// RMSNormalization.
struct Normalization final : OpOf<Normalization, LayerType::kNORMALIZATION> {
  static constexpr std::string_view kName = "Normalization";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOrdinary,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kCounted};
  uint32_t axes = 0;
  int64_t groups = 1;
  float epsilon = 1e-5f;
  DataType compute_precision = DataType::kFLOAT;
  bool is_v2 = false;  // made by addNormalizationV2
  bool subtracts_mean = true;
  bool gives_statistics = false;
  bool adds = false;
  QuantizedBytes copy;                  // of the result, besides it
  static constexpr size_t kAddend = 3;  // its input

  void visit(FieldVisitor& v) override;
  int output_count() const override { return gives_statistics ? 3 : copy.used ? 2 : 1; }
  void infer(Inference& c) const override;
  double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
