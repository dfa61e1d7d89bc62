// Convolution of 8-bit integers, and of fp8.
#pragma once

#include "ops/support/pointwise_program.h"
#include "ops/support/quantized_operands.h"
#include "ops/support/quantized_sum.h"

namespace tenon {

/// Bytes that an epilogue reads as numbers: (byte - zero) * scale.
struct EpilogueOperand {
  float scale = 1;
  int32_t zero = 0;

  float number(int32_t byte) const { return static_cast<float>(byte - zero) * scale; }
};

/// Inputs as QuantizedInputs says: data (N, C, then one to three spatial axes), weights (K,
/// C/groups, then the kernel's), zero points, bias, scale and zero point of the result. Padding
/// counts as the data's zero point. Sums are exact in 32 bits, which they wrap; of fp8 they are
/// float32, and a result of fp8 saturates. Semantics: ONNX ConvInteger (int32), QLinearConv (int8,
/// uint8). `bounds` are of the result before `sum`. An `epilogue` is computed of the scaled and
/// shifted sums before they are rounded; it excludes both. With `sum`, `to` is int8 or uint8, and
/// the last input is the addend, int8 or uint8 of the result's extents. An epilogue of two inputs
/// has that input, too, dequantized by `operand`.
struct QuantizedConvolution final
    : OpOf<QuantizedConvolution, layer_type(PrivateLayer::kQuantizedConvolution)> {
  static constexpr std::string_view kName = "QuantizedConvolution";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kCounted};
  static constexpr int kAddend = QuantizedInputs::kCount;
  DataType to = DataType::kINT32;
  bool is_float8 = false;  // data and weights are fp8, and so is a quantized result
  ResultBounds bounds;
  PointwiseProgram epilogue;
  int64_t output_channels = 0;
  Shape kernel, stride, dilation, pre_padding, post_padding;
  nvinfer1::PaddingMode padding_mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN;
  int64_t groups = 1;
  QuantizedSum sum;
  EpilogueOperand operand;

  /// 0 without an epilogue.
  int32_t epilogue_inputs() const { return epilogue.empty() ? 0 : epilogue.inputs; }
  bool has_operand() const { return epilogue.inputs > 1; }
  /// Whether input kAddend is there.
  bool has_addend() const { return sum.used || has_operand(); }

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const override;
  void reference(const ReferenceCall& call) const override;

 private:
  template <class Number> void compute(const ReferenceCall& call) const;
};

}  // namespace tenon
