// Matrix product with broadcasting over leading axes.
#pragma once

#include "network/op.h"
#include "ops/support/pointwise_program.h"

namespace tenon {

/// Inputs: two tensors, bias (optional, broadcast to the result), then the operands of the
/// epilogue. kVECTOR treats the last axis as a vector. Semantics: TensorRT IMatrixMultiplyLayer,
/// ONNX MatMul.
struct MatrixMultiply final : OpOf<MatrixMultiply, LayerType::kMATRIX_MULTIPLY> {
  static constexpr std::string_view kName = "MatrixMultiply";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kByAttributes,
                                  .implicit_batch = ImplicitBatch::kCountsFromLast,
                                  .work = Work::kProducts};
  nvinfer1::MatrixOperation operation_a = nvinfer1::MatrixOperation::kNONE;
  nvinfer1::MatrixOperation operation_b = nvinfer1::MatrixOperation::kNONE;
  PointwiseProgram epilogue;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  Magnitude magnitude(const Node& node, DataType type) const override;
  int min_rank(size_t input) const override;
  double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
