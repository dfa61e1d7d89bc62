// Softmax along one axis.
#pragma once

#include "network/op.h"

namespace tenon {

/// `axes` is a bit mask with exactly one bit set, as in TensorRT. Semantics: ONNX Softmax-13.
struct Softmax final : OpOf<Softmax, LayerType::kSOFTMAX> {
  static constexpr std::string_view kName = "Softmax";
  uint32_t axes = 1u << 1;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
