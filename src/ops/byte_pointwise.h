// A chain of element-wise operations on quantized tensors that the optimizer fused into one loop.
#pragma once

#include "network/op.h"
#include "ops/support/pointwise_program.h"
#include "ops/support/quantized_bytes.h"

namespace tenon {

/// Inputs: the program's, of equal rank, broadcast: float32, or int8 and uint8, which are the
/// numbers that their bytes are. Zero points and scales are steps of the program.
struct BytePointwise final : OpOf<BytePointwise, layer_type(PrivateLayer::kBytePointwise)> {
  static constexpr std::string_view kName = "BytePointwise";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kCounted};
  PointwiseProgram program;
  QuantizedBytes bytes;  // of the result; if they are not used, it is float32

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
