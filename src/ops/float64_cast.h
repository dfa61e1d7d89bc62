// Float64, which TensorRT's DataType lacks, as its bits in tensors of int64: to it, from it, and
// its order.
#pragma once

#include "network/op.h"

namespace tenon {

/// Input: numbers of any type of 8 bits or more that C++ computes with. Output: the same numbers as
/// bits of float64, in int64. Semantics: ONNX Cast to double.
struct ToFloat64 final : OpOf<ToFloat64, layer_type(PrivateLayer::kToFloat64)> {
  static constexpr std::string_view kName = "ToFloat64";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};

  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

/// Input: bits of float64, in int64. Output: the numbers in the type `to`, one of those that
/// ToFloat64 takes; integers are truncated and saturate, NaN becomes 0. Semantics: ONNX Cast.
struct FromFloat64 final : OpOf<FromFloat64, layer_type(PrivateLayer::kFromFloat64)> {
  static constexpr std::string_view kName = "FromFloat64";
  static constexpr Traits kTraits = ToFloat64::kTraits;
  DataType to = DataType::kFLOAT;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

/// Input: bits of float64, in int64. Output: int64 that are ordered as the numbers are, zeros of
/// both signs being equal. A NaN is greater than all numbers, or with `nan_is_least` less.
struct Float64Order final : OpOf<Float64Order, layer_type(PrivateLayer::kFloat64Order)> {
  static constexpr std::string_view kName = "Float64Order";
  static constexpr Traits kTraits = ToFloat64::kTraits;
  bool nan_is_least = false;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

/// Throws unless input i can hold bits of float64: it is int64.
void require_float64(const Inference& c, int i);

}  // namespace tenon
