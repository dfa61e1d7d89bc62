// Matrix product with broadcasting over leading axes.
#pragma once

#include "network/op.h"
#include "ops/pointwise_program.h"

namespace tenon {

/// Inputs: two tensors, bias (optional, broadcast to the result), then the operands of the
/// epilogue. kVECTOR treats the last axis as a vector. Semantics: TensorRT IMatrixMultiplyLayer,
/// ONNX MatMul.
struct MatrixMultiply final : OpOf<MatrixMultiply, LayerType::kMATRIX_MULTIPLY> {
  static constexpr std::string_view kName = "MatrixMultiply";
  nvinfer1::MatrixOperation operation_a = nvinfer1::MatrixOperation::kNONE;
  nvinfer1::MatrixOperation operation_b = nvinfer1::MatrixOperation::kNONE;
  PointwiseProgram epilogue;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
