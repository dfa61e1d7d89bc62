// Operations on the bits of pairs of integers, with broadcasting.
#pragma once

#include "network/op.h"

namespace tenon {

enum class BitwiseOperation : int32_t { kAnd, kOr, kXor, kShiftLeft, kShiftRight };

/// Inputs: two integer tensors of equal type and rank; extents are equal or one of them is 1.
/// Shifts by as many bits as there are, or more, give 0 (-1 for negative numbers to the right);
/// negative shifts count as those. Semantics: ONNX BitwiseAnd, BitwiseOr, BitwiseXor, BitShift.
struct Bitwise final : OpOf<Bitwise, layer_type(PrivateLayer::kBitwise)> {
  static constexpr std::string_view kName = "Bitwise";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  BitwiseOperation operation = BitwiseOperation::kAnd;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
