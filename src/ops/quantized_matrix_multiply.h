// Matrix products of 8-bit integers, and of fp8.
#pragma once

#include "ops/support/pointwise_program.h"
#include "ops/support/quantized_operands.h"

namespace tenon {

/// Inputs as QuantizedInputs says: data (…, M, K), weights (…, K, N) of the same rank, whose
/// leading axes broadcast. The channels are the N columns. Sums are exact in 32 bits, which they
/// wrap; of fp8 they are float32, and a result of fp8 saturates. An `epilogue` is as in
/// QuantizedConvolution. Semantics: ONNX MatMulInteger (int32), QLinearMatMul (int8, uint8).
struct QuantizedMatrixMultiply final
    : OpOf<QuantizedMatrixMultiply, layer_type(PrivateLayer::kQuantizedMatrixMultiply)> {
  static constexpr std::string_view kName = "QuantizedMatrixMultiply";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kCounted};
  DataType to = DataType::kINT32;
  bool is_float8 = false;  // data and weights are fp8, and so is a quantized result
  ResultBounds bounds;
  PointwiseProgram epilogue;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const override;
  void reference(const ReferenceCall& call) const override;

 private:
  template <class Number> void compute(const ReferenceCall& call) const;
};

/// A stack of products, for concrete shapes: matrix i of the result is that of `data[i]` and
/// `weights[i]`, numbered in their own tensors.
struct QuantizedProducts {
  int64_t rows, columns, depth;
  std::vector<int64_t> data, weights;

  QuantizedProducts(const Shape& a, const Shape& b);
};

}  // namespace tenon
