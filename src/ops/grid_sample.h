// Reading a tensor at places that another tensor says: the layer, and the kernel that plugins
// share.
#pragma once

#include "network/op.h"

namespace tenon {

/// How places between and outside of elements are read.
struct SamplingRule {
  nvinfer1::InterpolationMode mode = nvinfer1::InterpolationMode::kLINEAR;
  nvinfer1::SampleMode outside = nvinfer1::SampleMode::kFILL;  // kFILL (zeros), kCLAMP, kREFLECT
  bool align_corners = false;  // whether -1 and 1 are centres of elements, or their outer edges
};

/// Reads x (N, C, two or three spatial axes) at grid (N, as many output axes, coordinates), whose
/// innermost numbers are (x, y) or (x, y, z) from -1 to 1; writes y (N, C, output axes). All rows
/// first. Coordinates that are NaN are outside.
void sample_grid(const SamplingRule& rule, const float* x, const Shape& shape, const float* grid,
                 const Shape& grid_shape, float* y);

/// Inputs: data (N, C, H, W) or (N, C, D, H, W); grid (N, output axes, 2 or 3). Output: data's
/// type, (N, C, output axes). Semantics: ONNX GridSample-22, TensorRT IGridSampleLayer.
struct GridSample final : OpOf<GridSample, LayerType::kGRID_SAMPLE> {
  static constexpr std::string_view kName = "GridSample";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kFirstInput,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  nvinfer1::InterpolationMode mode = nvinfer1::InterpolationMode::kLINEAR;
  nvinfer1::SampleMode outside = nvinfer1::SampleMode::kFILL;
  bool align_corners = false;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
