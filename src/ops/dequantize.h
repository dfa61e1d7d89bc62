// The inverse of quantisation: integers, or small floats, to numbers.
#pragma once

#include "ops/support/scale_blocks.h"

namespace tenon {

/// Inputs: quantised data (int8, uint8, int32, int4, fp8 or fp4), scales, and perhaps zero points.
/// The result is (data - zero point) * scale, computed in float32 and rounded to `to`. Semantics:
/// ONNX DequantizeLinear; TensorRT's Dequantize has no zero points.
struct Dequantize final : OpOf<Dequantize, LayerType::kDEQUANTIZE> {
  static constexpr std::string_view kName = "Dequantize";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kResult,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kPerElement};
  ScaleLayout layout;
  DataType to = DataType::kFLOAT;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
