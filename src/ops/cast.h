// Conversion between data types.
#pragma once

#include "base/low_precision.h"
#include "network/op.h"

namespace tenon {

/// Semantics: ONNX Cast; float to integer truncates and saturates, NaN becomes 0; int4 keeps the
/// low four bits of the integer.
struct Cast final : OpOf<Cast, LayerType::kCAST> {
  static constexpr std::string_view kName = "Cast";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kOwnTypes,
                                  .magnitude = Magnitude::kByAttributes,
                                  .implicit_batch = ImplicitBatch::kNamesNoAxes,
                                  .work = Work::kNone};
  DataType to = DataType::kFLOAT;
  bool saturate = true;  // to fp8 and e8m0: else what is out of range becomes NaN
  PowerRounding power_rounding = PowerRounding::kUp;  // to e8m0

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  Magnitude magnitude(const Node& node, DataType type) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
