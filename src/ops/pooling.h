// Maximum, average and mixed pooling over two or three spatial axes.
#pragma once

#include "network/op.h"

namespace tenon {

/// Input: data (N,C,spatial…). Semantics: ONNX MaxPool and AveragePool; kMAX_AVERAGE_BLEND is
/// (1-blend)*max + blend*average.
struct Pooling final : OpOf<Pooling, LayerType::kPOOLING> {
  static constexpr std::string_view kName = "Pooling";
  nvinfer1::PoolingType type = nvinfer1::PoolingType::kMAX;
  Shape window, stride, pre_padding, post_padding;
  Shape dilation;  // empty means ones
  nvinfer1::PaddingMode padding_mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN;
  float blend = 0;
  bool average_excludes_padding = true;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
