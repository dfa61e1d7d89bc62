// Concatenation along one axis.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs of one type that agree but along the axis, one behind the other. Semantics: TensorRT
/// IConcatenationLayer, ONNX Concat. An input may lie in the output at its place already: kernels
/// leave it there (plan/parts.h).
struct Concatenation final : OpOf<Concatenation, LayerType::kCONCATENATION> {
  static constexpr std::string_view kName = "Concatenation";
  int32_t axis = 0;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
