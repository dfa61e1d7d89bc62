// The same bits, read as another type.
#pragma once

#include "network/op.h"

namespace tenon {

/// Input: elements of as many bits as those of `to`. Semantics: ONNX BitCast.
struct BitCast final : OpOf<BitCast, layer_type(PrivateLayer::kBitCast)> {
  static constexpr std::string_view kName = "BitCast";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  DataType to = DataType::kFLOAT;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
