// Conversion between data types.
#pragma once

#include "base/narrow.h"
#include "network/op.h"

namespace tenon {

/// Semantics: ONNX Cast; float to integer truncates and saturates, NaN becomes 0; int4 keeps the
/// low four bits of the integer.
struct Cast final : OpOf<Cast, LayerType::kCAST> {
  static constexpr std::string_view kName = "Cast";
  DataType to = DataType::kFLOAT;
  bool saturate = true;  // to fp8 and e8m0: else what is out of range becomes NaN
  PowerRounding power_rounding = PowerRounding::kUp;  // to e8m0

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
