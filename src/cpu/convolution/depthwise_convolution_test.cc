#include "base/parallel.h"
#include "common/convolution_testing.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;

constexpr char kDepthwiseConvolutionName[] = "depthwise_convolution";

Convolution depthwise(int64_t channels, const Shape& kernel, const Shape& stride,
                      const Shape& pad) {
  return sliding(channels, kernel, stride, pad, channels);
}

using DepthwiseConvolutionCase = LayerCase<Convolution>;

class DepthwiseConvolutionTest : public testing::TestWithParam<DepthwiseConvolutionCase> {};

TEST_P(DepthwiseConvolutionTest, EqualsReference) {
  const auto& [name, op, shape, has_bias] = GetParam();
  for (const Layout layout : {Layout::kLinear, Layout::kChannelsLast}) {
    LayerTest test = layer(op, shape, has_bias, layout);
    check(test, kDepthwiseConvolutionName, 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, DepthwiseConvolutionTest,
    testing::Values(
        DepthwiseConvolutionCase{"square", depthwise(32, {3, 3}, {1, 1}, {1, 1}), {1, 32, 12, 12}},
        DepthwiseConvolutionCase{"odd", depthwise(37, {3, 3}, {1, 1}, {1, 1}), {2, 37, 9, 13}},
        DepthwiseConvolutionCase{"halving", depthwise(48, {3, 3}, {2, 2}, {1, 1}), {1, 48, 14, 15}},
        DepthwiseConvolutionCase{
            "halving_odd", depthwise(19, {3, 3}, {2, 2}, {0, 0}), {3, 19, 15, 37}},
        DepthwiseConvolutionCase{"five", depthwise(24, {5, 5}, {1, 1}, {2, 2}), {2, 24, 11, 18}},
        DepthwiseConvolutionCase{
            "five_halving", depthwise(24, {5, 5}, {2, 2}, {2, 2}), {1, 24, 17, 21}},
        DepthwiseConvolutionCase{"seven", depthwise(16, {7, 7}, {1, 1}, {3, 3}), {1, 16, 10, 9}},
        DepthwiseConvolutionCase{
            "three_strides", depthwise(16, {3, 3}, {3, 3}, {1, 1}), {1, 16, 13, 29}},
        DepthwiseConvolutionCase{
            "unlike_axes", depthwise(20, {5, 3}, {1, 2}, {2, 1}), {1, 20, 8, 23}},
        DepthwiseConvolutionCase{"row", depthwise(16, {1, 5}, {1, 1}, {0, 2}), {1, 16, 3, 26}},
        DepthwiseConvolutionCase{"column", depthwise(16, {5, 1}, {2, 1}, {2, 0}), {1, 16, 12, 5}},
        DepthwiseConvolutionCase{
            "dilated",
            with(depthwise(18, {3, 3}, {1, 1}, {2, 3}), [](auto& op) { op.dilation = {2, 3}; }),
            {2, 18, 9, 20}},
        DepthwiseConvolutionCase{
            "asymmetric",
            with(depthwise(16, {3, 3}, {2, 2}, {0, 0}), [](auto& op) { op.post_padding = {1, 2}; }),
            {1, 16, 12, 12}},
        DepthwiseConvolutionCase{
            "same_upper",
            with(depthwise(16, {5, 5}, {2, 2}, {0, 0}),
                 [](auto& op) { op.padding_mode = nvinfer1::PaddingMode::kSAME_UPPER; }),
            {1, 16, 13, 14}},
        DepthwiseConvolutionCase{
            "padding_beyond_data", depthwise(16, {3, 3}, {1, 1}, {4, 6}), {1, 16, 2, 1}},
        DepthwiseConvolutionCase{"one_pixel", depthwise(64, {3, 3}, {1, 1}, {1, 1}), {2, 64, 1, 1}},
        DepthwiseConvolutionCase{
            "many_rows", depthwise(3, {3, 3}, {1, 1}, {1, 1}), {1, 3, 300, 41}},
        DepthwiseConvolutionCase{
            "wide_rows", depthwise(5, {3, 3}, {1, 1}, {1, 1}), {1, 5, 6, 3000}},
        DepthwiseConvolutionCase{
            "without_bias", depthwise(16, {3, 3}, {1, 1}, {1, 1}), {1, 16, 6, 5}, false},
        DepthwiseConvolutionCase{"no_images", depthwise(16, {3, 3}, {1, 1}, {1, 1}), {0, 16, 6, 5}},
        DepthwiseConvolutionCase{
            "no_pixels", depthwise(16, {2, 2}, {1, 1}, {1, 1}), {1, 16, 0, 4}}),
    [](const auto& i) { return i.param.name; });

// Against sums of doubles.
TEST(DepthwiseConvolutionTest, AllInstructionSetsAgree) {
  for (const SimdKernels* kernels : supported_simd_kernels()) {
    const int64_t lanes = kernels->depthwise.lanes, height = 7, width = 19, taps = 3;
    const DepthwiseForm form{
        {height, taps, 1, 1, 1}, {width, taps, 1, 1, 1}, width, lanes, -0.75f, 0.75f};
    const Tensor in = random_tensor({height, width, lanes}, 1);
    const Tensor weights = random_tensor({taps, taps, lanes}, 2), bias = random_tensor({lanes}, 3);
    Tensor out(DataType::kFLOAT, {height, width, lanes}), expected(DataType::kFLOAT, out.shape());
    kernels->depthwise.run(form, in.data<float>(), weights.data<float>(), bias.data<float>(), 1, 0,
                           height, out.mutable_data<float>());
    for_each_index(out.shape(), [&](int64_t i, const Shape& at) {
      double sum = bias.numbers()[static_cast<size_t>(at[2])];
      for (int64_t tap = 0; tap < taps * taps; ++tap) {
        const int64_t y = at[0] + tap / taps - 1, x = at[1] + tap % taps - 1;
        if (y < 0 || y >= height || x < 0 || x >= width) continue;
        sum += double{in.data<float>()[(y * width + x) * lanes + at[2]]}
               * double{weights.data<float>()[tap * lanes + at[2]]};
      }
      expected.mutable_data<float>()[i] = static_cast<float>(std::clamp(sum, -0.75, 0.75));
    });
    expect_close(out, expected);
  }
}

struct DepthwiseConvolutionEpilogueCase {
  const char* name;
  PointwiseProgram program;
  std::vector<Shape> operands;  // beside a result of 2x21x9x7
};

class DepthwiseEpilogueTest : public testing::TestWithParam<DepthwiseConvolutionEpilogueCase> {};

TEST_P(DepthwiseEpilogueTest, EqualsReference) {
  const auto& [name, program, operands] = GetParam();
  Convolution op = depthwise(21, {3, 3}, {1, 1}, {1, 1});
  op.epilogue = program;
  for (const Layout layout : {Layout::kLinear, Layout::kChannelsLast}) {
    std::vector<TestInput> inputs = {data({2, 21, 9, 7}, 1, layout), constant(weights_of(op, 21)),
                                     constant({21}, 3)};
    for (const Shape& shape : operands) inputs.push_back(data(shape, 11));
    LayerTest test(op, inputs);
    check(test, kDepthwiseConvolutionName, 2e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Programs, DepthwiseEpilogueTest,
    testing::Values(
        DepthwiseConvolutionEpilogueCase{
            "relu", {1, {}, {activation(ActivationType::kRELU, 0)}}, {}},
        DepthwiseConvolutionEpilogueCase{
            "relu6", {1, {}, {activation(ActivationType::kCLIP, 0, 0, 0.5f)}}, {}},
        DepthwiseConvolutionEpilogueCase{
            "clip_without_zero", {1, {}, {activation(ActivationType::kCLIP, 0, 0.25f, 0.5f)}}, {}},
        DepthwiseConvolutionEpilogueCase{
            "silu",
            {1,
             {},
             {activation(ActivationType::kSIGMOID, 0), binary(ElementWiseOperation::kPROD, 0, 1)}},
            {}},
        DepthwiseConvolutionEpilogueCase{
            "hard_swish",
            {1,
             {},
             {activation(ActivationType::kHARD_SIGMOID, 0, 1 / 6.f, 0.5f),
              binary(ElementWiseOperation::kPROD, 0, 1)}},
            {}},
        DepthwiseConvolutionEpilogueCase{"residual",
                                         {2,
                                          {},
                                          {binary(ElementWiseOperation::kSUM, 0, 1),
                                           activation(ActivationType::kCLIP, 2, 0, 0.5f)}},
                                         {{2, 21, 9, 7}}},
        DepthwiseConvolutionEpilogueCase{
            "constant_and_channels",
            {2,
             {3.5f},
             {binary(ElementWiseOperation::kPROD, 0, 1), binary(ElementWiseOperation::kSUM, 3, 2)}},
            {{1, 21, 1, 1}}}),
    [](const auto& i) { return i.param.name; });

TEST(DepthwiseConvolutionTest, OtherShapesWithTheSameKernel) {
  const Convolution op = depthwise(40, {3, 3}, {2, 1}, {1, 1});
  LayerTest test = layer(op, {1, 40, 56, 56});
  ASSERT_EQ(test.offer(kDepthwiseConvolutionName), "");
  for (const Shape& shape : {Shape{4, 40, 7, 5}, Shape{1, 40, 1, 1}, Shape{3, 40, 33, 70}}) {
    test.set_inputs({data(shape, 7), constant(weights_of(op, 40)), constant({40}, 3)});
    expect_close(test.run(), test.reference(), 1e-6);
  }
}

// Nothing is reordered between it and layers that want channels last.
TEST(DepthwiseConvolutionTest, TakesChannelsLastWhereAVectorIsFull) {
  for (const int64_t channels : {7, 8, 15, 16}) {
    LayerTest test = layer(depthwise(channels, {3, 3}, {1, 1}, {1, 1}), {1, channels, 8, 8}, true,
                           Layout::kChannelsLast);
    check(test, kDepthwiseConvolutionName, 1e-6);
    EXPECT_EQ(test.kernel().input_layouts[0] == Layout::kChannelsLast, channels >= 8);
    EXPECT_EQ(test.kernel().output_layouts[0], test.kernel().input_layouts[0]);
  }
}

// A plan says which layout data have, and may be of a machine with other vectors.
TEST(DepthwiseConvolutionTest, LoadsPlansOfMachinesWithOtherVectors) {
  for (const Layout layout : {Layout::kBlocked8, Layout::kBlocked16, Layout::kChannelsLast})
    for (const int64_t channels : {12, 20, 64}) {
      const Convolution op = depthwise(channels, {3, 3}, {1, 1}, {1, 1});
      const std::vector<TestInput> inputs = {data({2, channels, 9, 11}, 1, layout),
                                             constant(weights_of(op, channels)),
                                             constant({channels}, 3)};
      LayerTest test(op, inputs);
      ASSERT_EQ(test.offer(kDepthwiseConvolutionName), "");
      const StoredKernel stored = test.stored();
      const TensorSpec specs[] = {{DataType::kFLOAT, layout, {2, channels, 9, 11}},
                                  {DataType::kFLOAT, Layout::kLinear, {channels, 1, 3, 3}},
                                  {DataType::kFLOAT, Layout::kLinear, {channels}}};
      const TensorSpec output{DataType::kFLOAT, layout, {2, channels, 9, 11}};
      const Tensor* none[] = {nullptr, nullptr, nullptr};
      const auto kernel = load_kernel(tested().target, kDepthwiseConvolutionName,
                                      {op, specs, {&output, 1}, none}, stored);
      EXPECT_EQ(kernel->input_layouts[0], layout);
      expect_close(test.run(*kernel), test.reference(), 1e-6);
    }
}

TEST(DepthwiseConvolutionTest, ThreadsDoNotMatter) {
  for (const auto& [shape, layout] : {std::pair{Shape{2, 64, 60, 60}, Layout::kLinear},
                                      {{1, 400, 14, 14}, Layout::kChannelsLast}}) {
    LayerTest test = layer(depthwise(shape[1], {3, 3}, {1, 1}, {1, 1}), shape, true, layout);
    ASSERT_EQ(test.offer(kDepthwiseConvolutionName), "");
    expect_identical_with(test, {1, 2, 5});
  }
}

TEST(DepthwiseConvolutionTest, DamagedStoredKernelsAreErrors) {
  LayerTest test = layer(depthwise(32, {3, 3}, {1, 1}, {1, 1}), {1, 32, 8, 8});
  ASSERT_EQ(test.offer(kDepthwiseConvolutionName), "");
  const auto error_after = [&](auto&& damage) { return error_of_stored(test, damage); };
  EXPECT_EQ(error_after([](StoredKernel&) {}), "");
  EXPECT_THAT(error_after([](StoredKernel& s) { s.packed.pop_back(); }),
              testing::HasSubstr("expected weights and bias"));
  EXPECT_THAT(error_after([](StoredKernel& s) { s.packed[0] = Tensor(DataType::kFLOAT, {7}); }),
              testing::HasSubstr("do not fit 32 channels"));
  EXPECT_THAT(error_after([](StoredKernel& s) { s.packed[1] = Tensor(DataType::kINT32, {32}); }),
              testing::HasSubstr("do not fit 32 channels"));
}

// A plan may be damaged in what it says of tensors, too.
TEST(DepthwiseConvolutionTest, OtherChannelsOrLayoutsThanWeightsAreForAreErrors) {
  LayerTest test = layer(depthwise(32, {3, 3}, {1, 1}, {1, 1}), {1, 32, 8, 8});
  ASSERT_EQ(test.offer(kDepthwiseConvolutionName), "");
  const auto error_with = [&](int64_t channels, Layout layout) {
    const TensorSpec inputs[] = {{DataType::kFLOAT, layout, {1, channels, 8, 8}},
                                 {DataType::kFLOAT, Layout::kLinear, {32, 1, 3, 3}},
                                 {DataType::kFLOAT, Layout::kLinear, {32}}};
    const TensorSpec output{DataType::kFLOAT, layout, {1, 32, 8, 8}};
    return error_of([&] { test.kernel().prepare(inputs, {&output, 1}); });
  };
  EXPECT_EQ(error_with(32, test.kernel().output_layouts[0]), "");
  EXPECT_NE(error_with(64, test.kernel().output_layouts[0]), "");
  EXPECT_THAT(error_with(32, Layout::kLinear), testing::HasSubstr("must be 32 channels"));
}

TEST(DepthwiseConvolutionTest, IsForOneChannelAndMapInEachGroup) {
  const auto refused = testing::HasSubstr("one input and one output channel per group");
  EXPECT_THAT(layer(sliding(32, {3, 3}, {1, 1}, {1, 1}, 16), {1, 32, 8, 8})
                  .offer(kDepthwiseConvolutionName),
              refused);
  EXPECT_THAT(layer(sliding(32, {3, 3}, {1, 1}, {1, 1}, 16), {1, 16, 8, 8})
                  .offer(kDepthwiseConvolutionName),
              refused);
  EXPECT_THAT(
      layer(sliding(16, {3, 3}, {1, 1}, {1, 1}), {1, 16, 8, 8}).offer(kDepthwiseConvolutionName),
      refused);
  const Convolution volume = sliding(16, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, 16);
  EXPECT_THAT(layer(volume, {1, 16, 8, 8, 8}).offer(kDepthwiseConvolutionName),
              testing::HasSubstr("spatial axes"));
}

}  // namespace
}  // namespace tenon::cpu
