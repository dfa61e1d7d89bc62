// Operands of convolutions and products of integers, for the tests of their kernels on all targets.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ops/quantized_convolution.h"

namespace tenon {

using In = QuantizedInputs;

inline std::mt19937 generator(5);  // the same numbers each time

/// All values of the type, its ends often.
inline Tensor bytes(DataType type, const Shape& shape) {
  Tensor t(type, shape);
  auto* to = t.mutable_data<uint8_t>();
  for (int64_t i = 0; i < t.count(); ++i) {
    const auto draw = generator();
    constexpr uint8_t kEnds[] = {0, 127, 128, 255};
    to[i] = draw % 4 == 0 ? kEnds[draw / 4 % 4] : static_cast<uint8_t>(draw >> 8);
  }
  return t;
}

template <class T> Tensor list(DataType type, const std::vector<T>& values) {
  return Tensor::of<T>(type, {static_cast<int64_t>(values.size())}, values);
}

inline Tensor biases(int64_t count) {
  std::vector<int32_t> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<int32_t>(generator() % 20001) - 10000);
  return list(DataType::kINT32, values);
}

inline Tensor scales(int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(std::ldexp(1.f, -10) * static_cast<float>(1 + generator() % 5));
  return list(DataType::kFLOAT, values);
}

struct Types {
  DataType data, weights, to;
};
inline std::vector<Types> all_types() {
  std::vector<Types> list;
  for (DataType data : {DataType::kINT8, DataType::kUINT8})
    for (DataType weights : {DataType::kINT8, DataType::kUINT8})
      for (DataType to : {DataType::kINT32, DataType::kFLOAT, DataType::kINT8, DataType::kUINT8})
        list.push_back({data, weights, to});
  return list;
}

enum class Zeros { kNone, kOne, kEach };

/// SiLU of a number in steps of the result, four times as large: x * sigmoid(x / 8) * 4.
inline PointwiseProgram silu_program() {
  using Family = PointwiseStep::Family;
  const auto of = [](nvinfer1::ElementWiseOperation o) { return static_cast<int32_t>(o); };
  return {1,
          {8, 4},
          {{Family::kElementWise, of(nvinfer1::ElementWiseOperation::kDIV), 0, 1},
           {Family::kActivation, static_cast<int32_t>(nvinfer1::ActivationType::kSIGMOID), 3},
           {Family::kElementWise, of(nvinfer1::ElementWiseOperation::kPROD), 4, 0},
           {Family::kElementWise, of(nvinfer1::ElementWiseOperation::kPROD), 5, 2}}};
}

/// The same, plus a second input, divided by 3.
inline PointwiseProgram silu_and_sum_program() {
  using Family = PointwiseStep::Family;
  const auto of = [](nvinfer1::ElementWiseOperation o) { return static_cast<int32_t>(o); };
  return {2,
          {8, 4, 3},
          {{Family::kElementWise, of(nvinfer1::ElementWiseOperation::kDIV), 0, 2},
           {Family::kActivation, static_cast<int32_t>(nvinfer1::ActivationType::kSIGMOID), 5},
           {Family::kElementWise, of(nvinfer1::ElementWiseOperation::kPROD), 6, 0},
           {Family::kElementWise, of(nvinfer1::ElementWiseOperation::kPROD), 7, 3},
           {Family::kElementWise, of(nvinfer1::ElementWiseOperation::kSUM), 8, 1},
           {Family::kElementWise, of(nvinfer1::ElementWiseOperation::kDIV), 9, 4}}};
}

/// As exact, but for one step where an approximation of the epilogue ends on the other side of the
/// middle of two bytes, in one element of a hundred at most.
inline void expect_within_a_step(const std::vector<double>& found,
                                 const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  size_t others = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_LE(std::abs(found[i] - expected[i]), 1) << i;
    if (found[i] != expected[i]) ++others;
  }
  EXPECT_LE(others * 100, found.size());
}

/// For bytes with zero points for each channel bounds within those of the type; else none.
inline ResultBounds bounds_for(DataType to, Zeros zeros) {
  if (!is_byte(to) || zeros != Zeros::kEach) return {};
  return to == DataType::kINT8 ? ResultBounds{0, 100} : ResultBounds{5, 200};
}

inline std::vector<std::optional<Tensor>> operands(const Types& t, Tensor data, Tensor weights,
                                                   int64_t channels, Zeros zeros) {
  std::vector<std::optional<Tensor>> in(In::kCount);
  in[In::kData] = std::move(data);
  in[In::kWeights] = std::move(weights);
  if (zeros != Zeros::kNone) {
    in[In::kDataZero] = bytes(t.data, {});
    in[In::kWeightsZero] = bytes(t.weights, zeros == Zeros::kOne ? Shape{} : Shape{channels});
    in[In::kBias] = biases(channels);
  }
  if (t.to != DataType::kINT32) in[In::kResultScale] = scales(zeros == Zeros::kOne ? 1 : channels);
  if (t.to == DataType::kINT8 || t.to == DataType::kUINT8) in[In::kResultZero] = bytes(t.to, {});
  if (t.to != DataType::kINT32 && zeros == Zeros::kEach) in[In::kResultShift] = scales(channels);
  return in;
}

inline QuantizedConvolution integer_convolution(int64_t output_channels, const Shape& kernel,
                                                int64_t groups) {
  QuantizedConvolution op;
  op.output_channels = output_channels;
  op.groups = groups;
  op.kernel = kernel;
  op.stride = op.dilation = Shape::filled(kernel.rank(), 1);
  op.pre_padding = op.post_padding = Shape::filled(kernel.rank(), 0);
  return op;
}

}  // namespace tenon
