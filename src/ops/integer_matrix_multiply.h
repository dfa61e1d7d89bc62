// Matrix products of 8-bit integers.
#pragma once

#include "ops/support/integer_operands.h"
#include "ops/support/pointwise_program.h"

namespace tenon {

/// Inputs as IntegerInputs says: data (…, M, K), weights (…, K, N) of the same rank, whose leading
/// axes broadcast. The channels are the N columns. Sums are exact in 32 bits, which they wrap.
/// An `epilogue` is as in IntegerConvolution. Semantics: ONNX MatMulInteger (int32), QLinearMatMul
/// (int8, uint8).
struct IntegerMatrixMultiply final
    : OpOf<IntegerMatrixMultiply, layer_type(PrivateLayer::kIntegerMatrixMultiply)> {
  static constexpr std::string_view kName = "IntegerMatrixMultiply";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kCounted};
  DataType to = DataType::kINT32;
  ResultBounds bounds;
  PointwiseProgram epilogue;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const override;
  void reference(const ReferenceCall& call) const override;
};

/// A stack of products, for concrete shapes: matrix i of the result is that of `data[i]` and
/// `weights[i]`, numbered in their own tensors.
struct IntegerProducts {
  int64_t rows, columns, depth;
  std::vector<int64_t> data, weights;

  IntegerProducts(const Shape& a, const Shape& b);
};

}  // namespace tenon
