// Convolutions that the tests of all their kernels run.
#pragma once

#include "common/convolution_testing.h"
#include "common/suites/float_types_testing.h"
#include "cuda/cuda_target.h"

namespace tenon::cuda {

using Family = PointwiseStep::Family;
using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;

/// Half and bfloat16 round once, from sums in float32; variants of one kernel may round sums, too.
inline double tolerance(DataType type) {
  return type == DataType::kFLOAT ? 2e-5 : type == DataType::kHALF ? 1.5e-3 : 1.2e-2;
}

template <class Op> struct SlidingCase {
  const char* name;
  Op op;
  Shape data;
};

inline std::vector<SlidingCase<Convolution>> convolution_cases() {
  return {
      {"pointwise", sliding(24, {1, 1}, {1, 1}, {0, 0}), {2, 32, 7, 9}},
      {"square", sliding(21, {3, 3}, {1, 1}, {1, 1}), {2, 16, 13, 17}},
      {"stem", sliding(64, {7, 7}, {2, 2}, {3, 3}), {1, 3, 37, 41}},
      {"halved", sliding(32, {3, 3}, {2, 2}, {1, 1}), {2, 16, 14, 14}},
      {"one_channel", sliding(7, {3, 3}, {1, 1}, {1, 1}), {1, 1, 9, 8}},
      {"odd_channels", sliding(5, {3, 3}, {1, 1}, {1, 1}), {2, 7, 6, 5}},
      {"groups", sliding(16, {3, 3}, {2, 2}, {1, 1}, 4), {2, 32, 10, 11}},
      {"odd_groups", sliding(15, {3, 3}, {2, 2}, {1, 1}, 5), {2, 10, 10, 11}},
      {"depthwise", sliding(24, {3, 3}, {1, 1}, {1, 1}, 24), {2, 24, 15, 14}},
      {"dilated",
       with(sliding(16, {3, 3}, {1, 2}, {3, 4}), [](auto& op) { op.dilation = {3, 4}; }),
       {1, 8, 12, 15}},
      {"asymmetric",
       with(sliding(16, {3, 2}, {2, 3}, {0, 1}), [](auto& op) { op.post_padding = {2, 0}; }),
       {1, 16, 12, 13}},
      {"round_up",
       with(sliding(16, {3, 3}, {2, 2}, {0, 0}),
            [](auto& op) { op.padding_mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_UP; }),
       {1, 8, 12, 12}},
      {"same_upper",
       with(sliding(16, {3, 3}, {2, 2}, {0, 0}),
            [](auto& op) { op.padding_mode = nvinfer1::PaddingMode::kSAME_UPPER; }),
       {1, 8, 12, 12}},
      {"same_lower",
       with(sliding(16, {4, 4}, {1, 1}, {0, 0}),
            [](auto& op) { op.padding_mode = nvinfer1::PaddingMode::kSAME_LOWER; }),
       {1, 8, 12, 11}},
      {"padding_beyond_data", sliding(4, {2, 2}, {1, 3}, {5, 9}), {1, 3, 2, 3}},
      {"volume", sliding(16, {3, 3, 3}, {1, 2, 1}, {1, 0, 1}), {1, 8, 5, 6, 7}},
      {"line", sliding(8, {1, 3}, {1, 1}, {0, 1}), {1, 16, 1, 33}},
      {"no_images", sliding(16, {3, 3}, {1, 1}, {1, 1}), {0, 8, 5, 6}},
      {"no_pixels", sliding(4, {2, 2}, {1, 1}, {1, 1}), {1, 3, 0, 4}},
  };
}

inline std::vector<SlidingCase<Deconvolution>> deconvolution_cases() {
  const auto transposed = sliding<Deconvolution>;
  return {
      {"double", transposed(16, {2, 2}, {2, 2}, {0, 0}, 1), {1, 32, 7, 9}},
      {"overlap", transposed(7, {4, 4}, {2, 2}, {1, 1}, 1), {2, 5, 7, 9}},
      {"asymmetric",
       with(transposed(8, {3, 3}, {2, 2}, {0, 1}, 1), [](auto& op) { op.post_padding = {1, 0}; }),
       {1, 8, 5, 5}},
      {"output_padding",
       with(transposed(8, {3, 3}, {2, 2}, {1, 1}, 1), [](auto& op) { op.output_padding = {1, 1}; }),
       {1, 8, 5, 5}},
      {"groups", transposed(16, {3, 3}, {2, 2}, {1, 1}, 4), {1, 32, 5, 5}},
      {"depthwise", transposed(16, {4, 4}, {2, 2}, {1, 1}, 16), {1, 16, 5, 5}},
      {"volume", transposed(4, {2, 3, 3}, {1, 2, 2}, {0, 1, 1}, 1), {1, 6, 3, 4, 5}},
      {"no_images", transposed(16, {2, 2}, {2, 2}, {0, 0}, 1), {0, 8, 5, 6}},
  };
}

/// Elements behind all that the windows reach.
inline SlidingCase<Deconvolution> far_output_padding() {
  Deconvolution op = sliding<Deconvolution>(8, {2, 2}, {1, 1}, {0, 0});
  op.output_padding = {2, 1};
  return {"far_output_padding", op, {1, 8, 5, 5}};
}

/// The layer on the CUDA target in a type, with constant weights and bias; operands follow.
template <class Op>
LayerTest layer(const Op& op, DataType type, const Shape& shape, Layout layout,
                const std::vector<Shape>& operands = {}) {
  std::vector<TestInput> inputs = {data(shape, 1, layout), constant(weights_of(op, shape[1])),
                                   constant({op.output_channels}, 3)};
  uint32_t seed = 4;
  for (const Shape& operand : operands) inputs.push_back(data(operand, seed++, layout));
  if (type != DataType::kFLOAT)
    for (TestInput& in : inputs) in = as_type(type, in);
  return LayerTest(op, std::move(inputs), cuda_target());
}

constexpr Layout kLayouts[] = {Layout::kLinear, Layout::kChannelsLast};

}  // namespace tenon::cuda
