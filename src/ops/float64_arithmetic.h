// Arithmetic of float64, whose bits tensors of int64 hold: on elements, along axes, running.
#pragma once

#include "ops/cumulative.h"
#include "ops/float64_cast.h"
#include "ops/reduce.h"
#include "ops/support/pointwise_program.h"

namespace tenon {

/// Inputs: one tensor, or for the family kElementWise two of equal rank, whose extents are equal or
/// one of them is 1. Output: float64, too; bool for what tells or compares. What a function is of
/// float64 is evaluate_float64(). Not the logical operations.
struct Float64Pointwise final
    : OpOf<Float64Pointwise, layer_type(PrivateLayer::kFloat64Pointwise)> {
  static constexpr std::string_view kName = "Float64Pointwise";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kPerElement};
  PointwiseStep::Family family = PointwiseStep::Family::kElementWise;
  int32_t function = 0;       // a UnaryOperation, ActivationType or ElementWiseOperation
  float alpha = 0, beta = 0;  // of the activation

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

/// Reduce of float64.
struct Float64Reduce final : OpOf<Float64Reduce, layer_type(PrivateLayer::kFloat64Reduce)> {
  static constexpr std::string_view kName = "Float64Reduce";
  static constexpr Traits kTraits = ToFloat64::kTraits;
  Reduce attributes;

  void visit(FieldVisitor& v) override { attributes.visit(v); }
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

/// Cumulative of float64.
struct Float64Cumulative final
    : OpOf<Float64Cumulative, layer_type(PrivateLayer::kFloat64Cumulative)> {
  static constexpr std::string_view kName = "Float64Cumulative";
  static constexpr Traits kTraits = ToFloat64::kTraits;
  Cumulative attributes;

  void visit(FieldVisitor& v) override { attributes.visit(v); }
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
