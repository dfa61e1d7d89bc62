// Strided slices, with filling, clamping, wrapping or reflecting outside the input.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs: data, then optional integer tensors known on the host: start, size, stride; fill value;
/// axes. Attributes stand for those left out. Semantics: TensorRT ISliceLayer.
struct Slice final : OpOf<Slice, LayerType::kSLICE> {
  static constexpr std::string_view kName = "Slice";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kMovesAttributes,
                                  .work = Work::kTakesParts};
  enum Input { kData, kStart, kSize, kStride, kFill, kAxes };
  Shape start, size, stride;
  Shape axes;  // empty: all axes in order
  nvinfer1::SampleMode mode = nvinfer1::SampleMode::kSTRICT_BOUNDS;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void insert_batch_axis(int32_t largest_batch) override;
  void reference(const ReferenceCall& call) const override;
};

/// The position in [0, extent) that sample i of an axis reads, or kOutside (ops/reference.h) where
/// it takes the fill value.
int64_t sampled_position(int64_t i, int64_t extent, nvinfer1::SampleMode mode);

}  // namespace tenon
