#include "common/convolution_testing.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using Family = PointwiseStep::Family;

// Sums of some hundred products, in another order than the reference's.
constexpr double kConvolutionTolerance = 4e-6;

struct ConvolutionCase {
  const char* name;
  Convolution op;
  Shape data;
};

class BlockConvolutionTest : public testing::TestWithParam<ConvolutionCase> {};

TEST_P(BlockConvolutionTest, EqualsReference) {
  const auto& [name, op, shape] = GetParam();
  for (const Layout layout : {Layout::kLinear, Layout::kBlocked16}) {
    LayerTest test(op, {data(shape, 1, layout), constant(weights_of(op, shape[1])),
                        constant({op.output_channels}, 3)});
    ASSERT_EQ(test.offer("convolution"), "");
    expect_close(test.run(), test.reference(), kConvolutionTolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, BlockConvolutionTest,
    testing::Values(
        ConvolutionCase{"pointwise", sliding(24, {1, 1}, {1, 1}, {0, 0}), {2, 32, 7, 9}},
        ConvolutionCase{"square", sliding(21, {3, 3}, {1, 1}, {1, 1}), {2, 16, 13, 17}},
        ConvolutionCase{"stem", sliding(64, {7, 7}, {2, 2}, {3, 3}), {1, 3, 37, 41}},
        ConvolutionCase{"spectrum", sliding(258, {256, 1}, {128, 1}, {0, 0}), {1, 1, 832, 1}},
        ConvolutionCase{"wide_stride", sliding(36, {1, 256}, {1, 16}, {0, 0}), {2, 1, 1, 1000}},
        ConvolutionCase{"one_channel", sliding(32, {7, 7}, {1, 3}, {3, 2}), {2, 1, 50, 67}},
        ConvolutionCase{"one_pixel", sliding(1, {1, 1}, {1, 1}, {0, 0}), {1, 128, 1, 1}},
        ConvolutionCase{"many_channels", sliding(40, {3, 3}, {1, 1}, {1, 1}), {1, 300, 6, 5}},
        ConvolutionCase{"many_blocks", sliding(9, {3, 3}, {1, 1}, {1, 1}), {1, 5, 120, 131}},
        ConvolutionCase{
            "many_output_channels", sliding(333, {2, 2}, {1, 1}, {0, 0}), {1, 96, 4, 4}},
        ConvolutionCase{"groups", sliding(15, {3, 3}, {2, 2}, {1, 1}, 5), {2, 10, 10, 11}},
        ConvolutionCase{"depthwise", sliding(19, {3, 3}, {2, 2}, {1, 1}, 19), {2, 19, 15, 14}},
        ConvolutionCase{
            "dilated",
            with(sliding(16, {3, 3}, {1, 2}, {3, 4}), [](auto& op) { op.dilation = {3, 4}; }),
            {1, 6, 12, 15}},
        ConvolutionCase{
            "asymmetric",
            with(sliding(16, {3, 2}, {2, 3}, {0, 1}), [](auto& op) { op.post_padding = {2, 0}; }),
            {1, 16, 12, 13}},
        ConvolutionCase{
            "round_up",
            with(sliding(16, {3, 3}, {2, 2}, {0, 0}),
                 [](auto& op) { op.padding_mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_UP; }),
            {1, 8, 12, 12}},
        ConvolutionCase{
            "same_lower",
            with(sliding(16, {4, 4}, {1, 1}, {0, 0}),
                 [](auto& op) { op.padding_mode = nvinfer1::PaddingMode::kSAME_LOWER; }),
            {1, 8, 12, 11}},
        ConvolutionCase{"padding_beyond_data", sliding(4, {2, 2}, {1, 3}, {5, 9}), {1, 3, 2, 3}},
        ConvolutionCase{"volume", sliding(16, {3, 3, 3}, {1, 2, 1}, {1, 0, 1}), {1, 8, 5, 6, 7}},
        ConvolutionCase{
            "volume_groups", sliding(6, {2, 3, 1}, {2, 1, 3}, {1, 1, 0}, 3), {2, 9, 5, 6, 7}},
        ConvolutionCase{"small_images", sliding(37, {3, 1}, {2, 1}, {1, 0}), {21, 5, 7, 1}},
        ConvolutionCase{"small_images_groups", sliding(6, {2, 2}, {1, 1}, {1, 1}, 3), {9, 9, 3, 3}},
        ConvolutionCase{"no_images", sliding(16, {3, 3}, {1, 1}, {1, 1}), {0, 8, 5, 6}},
        ConvolutionCase{"no_pixels", sliding(4, {2, 2}, {1, 1}, {1, 1}), {1, 3, 0, 4}}),
    [](const auto& i) { return i.param.name; });

TEST(BlockConvolutionTest, WithoutBiasAndWithComputedWeights) {
  const Convolution op = sliding(18, {3, 3}, {1, 1}, {1, 1});
  for (const TestInput& weights : {constant({18, 16, 3, 3}), data({18, 16, 3, 3}, 5)}) {
    LayerTest test(op, {data({1, 16, 9, 9}), weights, absent()});
    ASSERT_EQ(test.offer("convolution"), "");
    expect_close(test.run(), test.reference(), kConvolutionTolerance);
    LayerTest shorter(op, {data({1, 16, 9, 9}), weights});
    ASSERT_EQ(shorter.offer("convolution"), "");
    expect_close(shorter.run(), shorter.reference(), kConvolutionTolerance);
  }
}

TEST(BlockConvolutionTest, OtherShapesWithTheSameKernel) {
  const Convolution op = sliding(24, {3, 3}, {2, 1}, {1, 1});
  LayerTest test(op, {data({1, 5, 56, 56}), constant({24, 5, 3, 3}), constant({24})});
  ASSERT_EQ(test.offer("convolution"), "");
  for (const Shape& shape :
       {Shape{1, 5, 56, 56}, Shape{4, 5, 7, 5}, Shape{1, 5, 1, 1}, Shape{3, 5, 33, 70}}) {
    test.set_inputs({data(shape, 7), constant({24, 5, 3, 3}), constant({24})});
    expect_close(test.run(), test.reference(), kConvolutionTolerance);
  }
}

TEST(BlockConvolutionTest, RunsTheEpilogue) {
  Convolution op = sliding(24, {3, 3}, {1, 1}, {1, 1});
  op.epilogue = {3,
                 {},
                 {{Family::kElementWise, static_cast<int32_t>(ElementWiseOperation::kPROD), 0, 2},
                  {Family::kElementWise, static_cast<int32_t>(ElementWiseOperation::kSUM), 3, 1},
                  {Family::kActivation, static_cast<int32_t>(ActivationType::kRELU), 4, -1}}};
  for (const Layout layout : {Layout::kLinear, Layout::kBlocked16}) {
    LayerTest test(op, {data({2, 8, 9, 7}), constant({24, 8, 3, 3}), constant({24}),
                        data({2, 24, 9, 7}, 4, layout), data({1, 24, 1, 1}, 6)});
    ASSERT_EQ(test.offer("convolution"), "");
    expect_close(test.run(), test.reference(), kConvolutionTolerance);
  }
}

TEST(BlockConvolutionTest, TheNumberOfThreadsChangesNothing) {
  const Convolution op = sliding(70, {3, 3}, {1, 1}, {1, 1});
  LayerTest test(op, {data({1, 40, 20, 33}), constant({70, 40, 3, 3}), constant({70})});
  ASSERT_EQ(test.offer("convolution"), "");
  expect_identical_with(test, {1, 3, 64});
}

TEST(BlockConvolutionTest, HalfPrecisionIsWidened) {
  const Convolution op = sliding(8, {3, 3}, {1, 1}, {1, 1});
  LayerTest test(op, {as_type(DataType::kHALF, data({1, 8, 5, 5})),
                      as_type(DataType::kHALF, constant({8, 8, 3, 3}))});
  EXPECT_EQ(test.offer("convolution"), "only float32 is supported");
  ASSERT_EQ(test.offer("convolution_16bit"), "");
  expect_close(test.run(), test.reference(), 1e-3);
}

}  // namespace
}  // namespace tenon::cpu
