// Transposed convolution over two or three spatial axes.
#pragma once

#include "network/op.h"
#include "ops/pointwise_program.h"

namespace tenon {

/// Inputs: data (N,C,spatial…), kernel (C,K/groups,kernel…) or its elements in that order, bias (K)
/// optional, then the operands of the epilogue. Semantics: ONNX ConvTranspose, whose output_padding
/// is `output_padding`.
struct Deconvolution final : OpOf<Deconvolution, LayerType::kDECONVOLUTION> {
  static constexpr std::string_view kName = "Deconvolution";
  int64_t output_maps = 0;
  Shape kernel, stride, dilation, pre_padding, post_padding;
  Shape output_padding;  // empty means zeros; extends the end of each spatial axis
  nvinfer1::PaddingMode padding_mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN;
  int64_t groups = 1;
  PointwiseProgram epilogue;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
