// Quantisation: numbers to integers, or to small floats, by scales that are given.
#pragma once

#include "ops/support/scale_blocks.h"

namespace tenon {

/// Inputs: data (floating point or int32), scales, and perhaps zero points, of `to` or another
/// integer type. The result is data / scale, rounded to the nearest with ties to even, plus the
/// zero point, saturated. Semantics: ONNX QuantizeLinear; TensorRT's Quantize has no zero points.
struct Quantize final : OpOf<Quantize, LayerType::kQUANTIZE> {
  static constexpr std::string_view kName = "Quantize";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kFirstInput,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kCounted};
  ScaleLayout layout;
  DataType to = DataType::kINT8;
  bool saturate = true;  // to fp8: else what is out of range becomes NaN
  /// Bounds of integer results where they are narrower than the type: ONNX's 16-bit integers and
  /// unsigned nibbles travel in wider types. Equal bounds mean those of `to`.
  int64_t lowest = 0, highest = 0;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const override;
  void reference(const ReferenceCall& call) const override;
};

/// The values that a quantised integer of that type can have.
struct IntegerRange {
  int64_t lowest, highest;
};
/// Of int8, uint8, int4 and int32; throws for others.
IntegerRange integer_range(DataType type);

/// Whether it is int8 or uint8.
bool is_byte(DataType type);

}  // namespace tenon
