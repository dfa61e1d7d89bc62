// What convolutions and matrix products of quantized tensors share: operands, zero points, results.
#pragma once

#include <optional>
#include <vector>

#include "ops/support/pointwise_program.h"
#include "ops/support/rounding.h"

namespace tenon {

/// The inputs of both kinds, in this order. All but data and weights may be left out; a zero point
/// left out is 0. `kResultScale` is what ONNX's operators give as x_scale * w_scale / y_scale. Data
/// and weights may be fp8 (e4m3) both, without zero points and an int32 bias.
struct QuantizedInputs {
  enum : int {
    kData,         // int8 or uint8, or fp8
    kWeights,      // int8 or uint8, or fp8
    kDataZero,     // one element, of the data's type
    kWeightsZero,  // one element, or one per result channel, of the weights' type
    kBias,         // int32, one per result channel; added to the sums
    kResultScale,  // float32, one element, or one per result channel; not for int32
    kResultZero,   // one element, of type `to`; for int8 and uint8
    kResultShift,  // float32, one element, or one per result channel; added to the scaled sums
    kCount
  };
};

/// Throws unless the types fit, and the lists have one element or, where they may, `channels`
/// (null: not known). `is_float8`: data and weights are fp8.
void check_quantized_inputs(const Inference& c, DataType to, Dim channels, bool is_float8);

/// The operands of a call, widened.
struct QuantizedOperands {
  explicit QuantizedOperands(int64_t channels);
  /// Reads the inputs of a call, and allocates nothing.
  void read(std::span<const TensorView> inputs);

  int32_t data_zero = 0;
  std::vector<int32_t> weights_zero;  // one per channel
  std::vector<int32_t> bias;          // one per channel
  std::vector<float> scale, shift;    // one per channel
  float result_zero = 0;

  /// For sums that all belong to channel `c`.
  Requantization for_channel(DataType to, const ResultBounds& bounds, int64_t c) const;
  /// For sums of all channels, in order.
  Requantization for_channels(DataType to, const ResultBounds& bounds) const;
};

/// Throws unless results of that type can have both, the epilogue with at most so many inputs.
void check_quantized_result(DataType to, const ResultBounds& bounds,
                            const PointwiseProgram& epilogue, int32_t max_inputs = 1);

/// As Requantization::store(), with an epilogue between; an empty one is none. `operand` is its
/// second input, if it has one.
void store_with_epilogue(const Requantization& result, const PointwiseProgram& epilogue,
                         const int32_t* sums, int64_t count, void* to,
                         const float* operand = nullptr);
/// Of products of fp8: a result of fp8 saturates.
void store_with_epilogue(const Requantization& result, const PointwiseProgram& epilogue,
                         const double* sums, int64_t count, void* to,
                         const float* operand = nullptr);

/// A product of integers added to a sum that wraps, and one of fp8.
inline void multiply_add(int32_t& sum, int32_t a, int32_t b) {
  sum = static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(a * b));
}
inline void multiply_add(double& sum, double a, double b) {
  sum += a * b;
}

/// The elements of an int8 or uint8 tensor minus a zero point as int32_t, of fp8 as double.
template <class Number> std::vector<Number> centred(const TensorView& view, int32_t zero);

}  // namespace tenon
