// Interpolation to another size along any axes.
#pragma once

#include "network/op.h"

namespace tenon {

/// Coordinate rules of ONNX Resize that TensorRT does not name.
enum class PrivateCoordinates : int32_t {
  kPytorchHalfPixel = 10001,
  kTfHalfPixelForNearest = 10002,
  kTfCropAndResize = 10003,
  kHalfPixelSymmetric = 10004,
};

/// Inputs: data; output size (integer tensor) or scales (float tensor), whichever `input_is_scales`
/// says, known on the host; region of interest (2*rank floats, for kTfCropAndResize); the output
/// size to which the scales of input 1 lead, where only running the network tells them. Without
/// input 1 the attributes `output_size` or `scales` decide. Semantics: ONNX Resize-19 and TensorRT
/// IResizeLayer.
struct Resize final : OpOf<Resize, LayerType::kRESIZE> {
  static constexpr std::string_view kName = "Resize";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kFirstInput,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kMovesAttributes,
                                  .work = Work::kNone};
  nvinfer1::InterpolationMode mode = nvinfer1::InterpolationMode::kNEAREST;
  nvinfer1::ResizeCoordinateTransformation coordinates =
      nvinfer1::ResizeCoordinateTransformation::kASYMMETRIC;  // or a PrivateCoordinates
  nvinfer1::ResizeSelector selector = nvinfer1::ResizeSelector::kFORMULA;
  nvinfer1::ResizeRoundMode rounding = nvinfer1::ResizeRoundMode::kFLOOR;
  float cubic_coefficient = -0.75f;
  bool exclude_outside = false;
  bool antialias = false;
  float extrapolation_value = 0;
  bool input_is_scales = false;
  Shape output_size;
  std::vector<float> scales;  // one per axis; used for coordinates whenever given

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void insert_batch_axis(int32_t largest_batch) override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
