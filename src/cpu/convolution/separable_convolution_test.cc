#include "ops/separable_convolution.h"

#include <gtest/gtest.h>

#include "common/convolution_testing.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using ::testing::HasSubstr;

constexpr double kSeparableConvolutionRelative = 3e-6;

// `depthwise`, its bounds, and a 1x1 convolution with as many output channels.
SeparableConvolution separable(const Convolution& depthwise, int64_t output_channels) {
  SeparableConvolution op;
  op.depthwise = depthwise;
  op.depthwise.epilogue.steps = {activation(ActivationType::kCLIP, 0, 0, 0.8f)};
  op.pointwise = sliding(output_channels, {1, 1}, {1, 1}, {0, 0});
  return op;
}

Convolution depthwise_part(int64_t channels, const Shape& kernel, const Shape& stride,
                           const Shape& pad) {
  return sliding(channels, kernel, stride, pad, channels);
}

std::vector<TestInput> inputs_of(const SeparableConvolution& op, const Shape& shape) {
  const int64_t channels = op.depthwise.output_channels,
                output_channels = op.pointwise.output_channels;
  return {data(shape), constant(weights_of(op.depthwise, channels)), constant({channels}, 3),
          constant({output_channels, channels, 1, 1}, 4), constant({output_channels}, 5)};
}

constexpr const char* kKernels[] = {"separable_convolution", "depthwise_then_direct",
#ifdef TENON_ONEDNN
                                    "depthwise_then_onednn", "onednn_then_onednn"
#endif
};

// The library may want another layout for its half than what is there.
bool takes(LayerTest& test, std::string_view kernel) {
  const std::string refusal = test.offer(kernel);
  if (refusal.empty()) return true;
  EXPECT_TRUE(kernel.ends_with("onednn")) << kernel << ": " << refusal;
  EXPECT_THAT(refusal, HasSubstr("in different layouts"));
  return false;
}

void check_all(const SeparableConvolution& op, const std::vector<TestInput>& inputs) {
  for (const char* kernel : kKernels) {
    SCOPED_TRACE(kernel);
    LayerTest test(op, inputs);
    if (takes(test, kernel)) check(test, kernel, kSeparableConvolutionRelative);
  }
}

struct SeparableConvolutionCase {
  const char* name;
  SeparableConvolution op;
  Shape shape;
};

class SeparableConvolutionTest : public testing::TestWithParam<SeparableConvolutionCase> {};

TEST_P(SeparableConvolutionTest, EqualsReference) {
  check_all(GetParam().op, inputs_of(GetParam().op, GetParam().shape));
}

INSTANTIATE_TEST_SUITE_P(
    Windows, SeparableConvolutionTest,
    testing::Values(
        SeparableConvolutionCase{
            "square", separable(depthwise_part(32, {3, 3}, {1, 1}, {1, 1}), 16), {1, 32, 14, 14}},
        SeparableConvolutionCase{
            "halved", separable(depthwise_part(48, {3, 3}, {2, 2}, {1, 1}), 24), {2, 48, 15, 12}},
        SeparableConvolutionCase{"partial_blocks",
                                 separable(depthwise_part(21, {3, 3}, {1, 1}, {1, 1}), 35),
                                 {3, 21, 9, 7}},
        SeparableConvolutionCase{
            "fives", separable(depthwise_part(40, {5, 5}, {2, 2}, {2, 2}), 100), {1, 40, 23, 19}},
        SeparableConvolutionCase{"unlike_axes",
                                 separable(depthwise_part(20, {5, 3}, {1, 2}, {2, 1}), 3),
                                 {1, 20, 8, 23}},
        SeparableConvolutionCase{"many_rows",
                                 separable(depthwise_part(64, {3, 3}, {1, 1}, {1, 1}), 8),
                                 {1, 64, 120, 41}},
        SeparableConvolutionCase{
            "one_pixel", separable(depthwise_part(64, {3, 3}, {1, 1}, {1, 1}), 32), {2, 64, 1, 1}}),
    [](const auto& i) { return i.param.name; });

TEST(SeparableConvolutionTest, AddsOperandsOfTheResult) {
  SeparableConvolution op = separable(depthwise_part(24, {3, 3}, {1, 1}, {1, 1}), 40);
  op.pointwise.epilogue.inputs = 2;
  op.pointwise.epilogue.steps = {binary(ElementWiseOperation::kSUM, 0, 1),
                                 activation(ActivationType::kRELU, 2)};
  auto inputs = inputs_of(op, {2, 24, 11, 13});
  inputs.push_back(data({2, 40, 11, 13}, 6));
  check_all(op, inputs);
}

TEST(SeparableConvolutionTest, NeedsNoBiasAndNoBounds) {
  SeparableConvolution op = separable(depthwise_part(24, {3, 3}, {1, 1}, {1, 1}), 40);
  op.depthwise.epilogue = {};
  auto inputs = inputs_of(op, {1, 24, 11, 13});
  inputs[SeparableConvolution::kDepthwiseBias] = absent();
  inputs.pop_back();
  check_all(op, inputs);
}

TEST(SeparableConvolutionTest, RunsAtOtherShapes) {
  const SeparableConvolution op = separable(depthwise_part(24, {3, 3}, {2, 2}, {1, 1}), 40);
  for (const char* kernel : kKernels) {
    SCOPED_TRACE(kernel);
    LayerTest test(op, inputs_of(op, {1, 24, 11, 13}));
    if (!takes(test, kernel)) continue;
    for (const Shape& shape : {Shape{3, 24, 40, 5}, Shape{1, 24, 1, 2}, Shape{0, 24, 8, 8}}) {
      test.set_inputs(inputs_of(op, shape));
      expect_close(test.run(), test.reference(), kSeparableConvolutionRelative);
    }
  }
}

TEST(SeparableConvolutionTest, DoesNotDependOnThreads) {
  const SeparableConvolution op = separable(depthwise_part(48, {3, 3}, {1, 1}, {1, 1}), 24);
  LayerTest test(op, inputs_of(op, {2, 48, 28, 28}));
  ASSERT_EQ(test.offer("separable_convolution"), "");
  expect_identical_with(test, {1, 2, 5});
}

// Padding channels between the layers are not zeros then.
TEST(SeparableConvolutionTest, BoundsWithoutZero) {
  SeparableConvolution op = separable(depthwise_part(21, {3, 3}, {1, 1}, {1, 1}), 35);
  op.depthwise.epilogue.steps = {activation(ActivationType::kCLIP, 0, 0.1f, 0.8f)};
  check_all(op, inputs_of(op, {2, 21, 9, 7}));
}

TEST(SeparableConvolutionTest, OnePassRefusesOtherEpiloguesBetween) {
  SeparableConvolution op = separable(depthwise_part(24, {3, 3}, {1, 1}, {1, 1}), 40);
  op.depthwise.epilogue.steps = {activation(ActivationType::kTANH, 0)};
  LayerTest test(op, inputs_of(op, {1, 24, 11, 13}));
  EXPECT_THAT(test.offer("separable_convolution"), HasSubstr("only bounds"));
  check(test, "depthwise_then_direct", kSeparableConvolutionRelative);
}

TEST(SeparableConvolutionTest, DamagedPlansAreRefused) {
  const SeparableConvolution op = separable(depthwise_part(24, {3, 3}, {1, 1}, {1, 1}), 40);
  for (const char* kernel : {"separable_convolution", "depthwise_then_direct"}) {
    SCOPED_TRACE(kernel);
    LayerTest test(op, inputs_of(op, {1, 24, 11, 13}));
    ASSERT_EQ(test.offer(kernel), "");
    EXPECT_NE(error_of_stored(test, [](StoredKernel& s) { s.packed.pop_back(); }), "");
    EXPECT_NE(error_of_stored(test, [](StoredKernel& s) { std::swap(s.packed[0], s.packed[2]); }),
              "");
    if (test.stored().state.empty()) continue;
    const auto set = [](StoredKernel& s, std::string_view name, int64_t to) {
      for (auto& [field, value] : s.state)
        if (field == name) value = to;
    };
    EXPECT_THAT(error_of_stored(test, [&](StoredKernel& s) { set(s, "between", 77); }),
                HasSubstr("there is no layout 77"));
    EXPECT_THAT(error_of_stored(test, [&](StoredKernel& s) { set(s, "packed_by_first", 9); }),
                HasSubstr("9 of"));
  }
}

// Steps of a plan's bodies come unchecked.
TEST(SeparableConvolutionTest, TooFewInputsAreRefused) {
  const SeparableConvolution op = separable(depthwise_part(24, {3, 3}, {1, 1}, {1, 1}), 40);
  const TensorSpec inputs[] = {{DataType::kFLOAT, Layout::kLinear, {1, 24, 11, 13}},
                               {DataType::kFLOAT, Layout::kLinear, {24, 1, 3, 3}}};
  const TensorSpec output{DataType::kFLOAT, Layout::kLinear, {1, 40, 11, 13}};
  const Tensor* const constants[] = {nullptr, nullptr};
  const StoredKernel stored;
  for (const char* kernel : kKernels)
    EXPECT_THAT(error_of([&] {
                  load_kernel(tested().target, kernel, {op, inputs, {&output, 1}, constants},
                              stored);
                }),
                HasSubstr("the second kernel (input 3) is missing"));
}

}  // namespace
}  // namespace tenon::cpu
