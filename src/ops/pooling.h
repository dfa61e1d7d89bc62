// Maximum, average and mixed pooling over two or three spatial axes.
#pragma once

#include "network/op.h"

namespace tenon {

/// In which order the indices of maxima are counted; kNone: they are no output.
enum class PoolingIndices : int32_t { kNone, kRowsFirst, kColumnsFirst };

/// Input: data (N,C,spatial…). Semantics: ONNX MaxPool and AveragePool, and a NaN is the maximum of
/// its window, as in PyTorch; kMAX_AVERAGE_BLEND is (1-blend)*max + blend*average. With `indices` a
/// second output, int64, tells where in the whole flattened data each maximum is (the first of
/// equal ones, or the first NaN; -1 for windows without elements, whose maximum is -infinity or the
/// lowest integer).
struct Pooling final : OpOf<Pooling, LayerType::kPOOLING> {
  static constexpr std::string_view kName = "Pooling";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kNamesNoAxes,
                                  .work = Work::kCounted};
  nvinfer1::PoolingType type = nvinfer1::PoolingType::kMAX;
  Shape window, stride, pre_padding, post_padding;
  Shape dilation;  // empty means ones
  nvinfer1::PaddingMode padding_mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN;
  float blend = 0;
  bool average_excludes_padding = true;
  bool average_counts_all = false;  // divide by all taps, also by those behind the padding
  PoolingIndices indices = PoolingIndices::kNone;

  void visit(FieldVisitor& v) override;
  int output_count() const override { return indices == PoolingIndices::kNone ? 1 : 2; }
  void infer(Inference& c) const override;
  double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
