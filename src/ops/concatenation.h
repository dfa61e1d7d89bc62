// Concatenation along one axis.
#pragma once

#include "network/op.h"

namespace tenon {

/// Kernels leave an input where it is that lies in the output at its place already.
struct Concatenation final : OpOf<Concatenation, LayerType::kCONCATENATION> {
  static constexpr std::string_view kName = "Concatenation";
  int32_t axis = 0;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
