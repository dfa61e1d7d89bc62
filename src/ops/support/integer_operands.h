// What convolutions and matrix products of integers share: operands, zero points, results.
#pragma once

#include <optional>
#include <vector>

#include "ops/support/pointwise_program.h"
#include "ops/support/rounding.h"

namespace tenon {

/// The inputs of both kinds, in this order. All but data and weights may be left out; a zero point
/// left out is 0. `kResultScale` is what ONNX's operators give as x_scale * w_scale / y_scale.
struct IntegerInputs {
  enum : int {
    kData,         // int8 or uint8
    kWeights,      // int8 or uint8
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
/// (null: not known).
void check_integer_inputs(const Inference& c, DataType to, Dim channels);

/// The operands of a call, widened.
struct IntegerOperands {
  explicit IntegerOperands(int64_t channels);
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
void check_integer_result(DataType to, const ResultBounds& bounds, const PointwiseProgram& epilogue,
                          int32_t max_inputs = 1);

/// As Requantization::store(), with an epilogue between; an empty one is none. `operand` is its
/// second input, if it has one.
void store_with_epilogue(const Requantization& result, const PointwiseProgram& epilogue,
                         const int32_t* sums, int64_t count, void* to,
                         const float* operand = nullptr);

/// The elements of an int8 or uint8 tensor minus a zero point, as 32-bit integers.
std::vector<int32_t> centred(const TensorView& view, int32_t zero);

}  // namespace tenon
