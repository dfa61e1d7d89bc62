// Conversion between data types.
#pragma once

#include "network/op.h"

namespace tenon {

/// Semantics: ONNX Cast; float to integer truncates and saturates, NaN becomes 0.
struct Cast final : OpOf<Cast, LayerType::kCAST> {
  static constexpr std::string_view kName = "Cast";
  DataType to = DataType::kFLOAT;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
