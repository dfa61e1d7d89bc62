// Convolution over two or three spatial axes, with an optional element-wise epilogue.
#pragma once

#include "network/op.h"
#include "ops/pointwise_program.h"

namespace tenon {

/// Inputs: data (N,C,spatial…), kernel (K,C/groups,kernel…) or its elements in that order, bias (K)
/// optional, then the operands of the epilogue, whose register 0 is the result of the convolution.
/// Semantics: ONNX Conv.
struct Convolution final : OpOf<Convolution, LayerType::kCONVOLUTION> {
  static constexpr std::string_view kName = "Convolution";
  int64_t output_maps = 0;
  Shape kernel, stride, dilation, pre_padding, post_padding;  // one entry per spatial axis
  nvinfer1::PaddingMode padding_mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN;
  int64_t groups = 1;
  PointwiseProgram epilogue;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
