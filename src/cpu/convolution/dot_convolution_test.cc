#include "common/convolution_testing.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::PaddingMode;
using ::testing::HasSubstr;

constexpr char kDotConvolutionName[] = "dot_convolution";
constexpr double kDotConvolutionRelative = 2e-6;

using DotConvolutionCase = LayerCase<Convolution>;

class DotConvolutionTest : public testing::TestWithParam<DotConvolutionCase> {};

TEST_P(DotConvolutionTest, EqualsReference) {
  const auto& [name, op, shape, has_bias] = GetParam();
  LayerTest test = layer(op, shape, has_bias);
  check(test, kDotConvolutionName, kDotConvolutionRelative);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, DotConvolutionTest,
    testing::Values(
        DotConvolutionCase{"colours", sliding(3, {5, 5}, {1, 1}, {2, 2}), {1, 32, 40, 129}},
        DotConvolutionCase{"classes", sliding(1, {1, 1}, {1, 1}, {0, 0}), {2, 64, 17, 33}},
        DotConvolutionCase{
            "two_output_channels", sliding(2, {3, 3}, {1, 1}, {1, 1}), {2, 16, 9, 16}},
        DotConvolutionCase{
            "four_output_channels", sliding(4, {3, 3}, {1, 1}, {1, 1}), {1, 48, 9, 17}},
        DotConvolutionCase{
            "twelve_output_channels", sliding(12, {3, 3}, {1, 1}, {1, 1}), {1, 32, 9, 40}},
        DotConvolutionCase{"odd_channels", sliding(3, {3, 3}, {1, 1}, {1, 1}), {2, 29, 11, 21}},
        DotConvolutionCase{"few_channels", sliding(5, {3, 3}, {1, 1}, {1, 1}), {1, 9, 11, 21}},
        DotConvolutionCase{"unlike_axes", sliding(1, {7, 3}, {1, 1}, {3, 1}), {2, 32, 20, 88}},
        DotConvolutionCase{"halved", sliding(3, {3, 3}, {2, 2}, {1, 1}), {2, 24, 15, 31}},
        DotConvolutionCase{"unlike_strides", sliding(2, {5, 2}, {1, 3}, {2, 1}), {1, 17, 8, 53}},
        DotConvolutionCase{
            "dilated",
            with(sliding(4, {3, 3}, {1, 1}, {2, 3}), [](auto& op) { op.dilation = {2, 3}; }),
            {1, 16, 21, 50}},
        DotConvolutionCase{
            "asymmetric",
            with(sliding(5, {3, 4}, {3, 1}, {0, 2}), [](auto& op) { op.post_padding = {2, 1}; }),
            {1, 16, 16, 30}},
        DotConvolutionCase{"same_upper",
                           with(sliding(3, {5, 5}, {2, 2}, {0, 0}),
                                [](auto& op) { op.padding_mode = PaddingMode::kSAME_UPPER; }),
                           {1, 16, 13, 40}},
        DotConvolutionCase{
            "rounded_up",
            with(sliding(3, {1, 1}, {2, 2}, {0, 0}),
                 [](auto& op) { op.padding_mode = PaddingMode::kEXPLICIT_ROUND_UP; }),
            {1, 16, 8, 36}},
        DotConvolutionCase{
            "padding_beyond_data", sliding(3, {2, 2}, {1, 1}, {5, 19}), {1, 16, 2, 3}},
        DotConvolutionCase{
            "data_beyond_windows", sliding(3, {1, 1}, {2, 2}, {0, 0}), {1, 16, 9, 38}},
        DotConvolutionCase{"long_strides", sliding(3, {3, 5}, {3, 9}, {1, 2}), {2, 16, 20, 141}},
        DotConvolutionCase{"one_column", sliding(6, {3, 1}, {1, 1}, {1, 0}), {2, 16, 12, 1}},
        DotConvolutionCase{"one_pixel", sliding(3, {1, 1}, {1, 1}, {0, 0}), {3, 64, 1, 1}},
        DotConvolutionCase{"whole_image", sliding(3, {6, 7}, {1, 1}, {0, 0}), {3, 16, 6, 7}},
        DotConvolutionCase{"many_rows", sliding(1, {3, 3}, {1, 1}, {1, 1}), {1, 70, 300, 20}},
        DotConvolutionCase{
            "without_bias", sliding(3, {3, 3}, {1, 1}, {1, 1}), {1, 16, 6, 25}, false},
        DotConvolutionCase{"no_images", sliding(3, {3, 3}, {1, 1}, {1, 1}), {0, 16, 6, 5}},
        DotConvolutionCase{"no_rows", sliding(3, {2, 2}, {1, 1}, {1, 1}), {1, 16, 0, 4}},
        DotConvolutionCase{"no_columns",
                           with(sliding(3, {3, 3}, {1, 1}, {0, 0}),
                                [](auto& op) { op.padding_mode = PaddingMode::kSAME_UPPER; }),
                           {1, 16, 4, 0}}),
    [](const auto& i) { return i.param.name; });

// Against sums of doubles.
void check_dot_convolution_loops(const DotKernels& loops, int64_t step, int64_t output_channels,
                                 int64_t pixels) {
  const int64_t lanes = loops.lanes, taps = 7;
  const int64_t windows = (pixels + loops.pixels - 1) / loops.pixels * loops.pixels;
  const Tensor in = random_tensor({taps * lanes + windows * step}, 1);
  const Tensor weights = random_tensor({output_channels, taps, lanes}, 2),
               bias = random_tensor({output_channels}, 3);
  Tensor packed(DataType::kFLOAT, weights.shape());
  Tensor out(DataType::kFLOAT, {output_channels, pixels}), expected(DataType::kFLOAT, out.shape());
  for_each_index(weights.shape(), [&](int64_t i, const Shape& at) {
    const int64_t first = at[0] / loops.output_channels * loops.output_channels;
    const int64_t together = std::min(loops.output_channels, output_channels - first);
    packed.mutable_data<float>()[((first * taps + at[1] * together) + at[0] - first) * lanes
                                 + at[2]] = weights.data<float>()[i];
  });
  std::vector<int64_t> offsets;
  for (int64_t t = 0; t < taps; ++t) offsets.push_back(t * 3 % taps * lanes);
  const DotForm form{offsets.data(), taps, step, pixels, -0.75f, 1.5f};
  loops.run(form, in.data<float>(), packed.data<float>(), bias.data<float>(), output_channels,
            pixels, out.mutable_data<float>());
  for_each_index(out.shape(), [&](int64_t i, const Shape& at) {
    double sum = double{bias.data<float>()[at[0]]};
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t lane = 0; lane < lanes; ++lane)
        sum += double{in.data<float>()[offsets[static_cast<size_t>(t)] + lane + at[1] * step]}
               * double{weights.data<float>()[(at[0] * taps + t) * lanes + lane]};
    expected.mutable_data<float>()[i] = static_cast<float>(std::clamp(sum, -0.75, 1.5));
  });
  expect_close(out, expected);
}

TEST(DotConvolutionTest, AllInstructionSetsAgree) {
  for (const SimdKernels* kernels : supported_simd_kernels()) {
    const DotKernels& loops = kernels->dot;
    for (const int64_t step : {loops.lanes, 3 * loops.lanes})
      for (int64_t output_channels = 1; output_channels <= 2 * loops.output_channels;
           ++output_channels)
        for (int64_t pixels = 1; pixels <= 2 * loops.pixels; ++pixels)
          check_dot_convolution_loops(loops, step, output_channels, pixels);
  }
}

TEST(DotConvolutionTest, ComputesEpilogues) {
  const Convolution plain = sliding(3, {3, 3}, {1, 1}, {1, 1});
  const Shape shape{2, 20, 9, 21};
  const auto with_program = [&](std::vector<PointwiseStep> steps, std::vector<Shape> operands) {
    const auto op = with(plain, [&](auto& changed) {
      changed.epilogue.inputs = 1 + static_cast<int32_t>(operands.size());
      changed.epilogue.steps = std::move(steps);
    });
    auto inputs = inputs_of(op, shape);
    for (const Shape& operand : operands) inputs.push_back(data(operand, 11));
    LayerTest test(op, inputs);
    check(test, kDotConvolutionName, kDotConvolutionRelative);
  };
  with_program({activation(ActivationType::kRELU, 0)}, {});
  with_program({activation(ActivationType::kCLIP, 0, 0.25f, 0.5f)}, {});
  with_program({activation(ActivationType::kCLIP, 0, 0.5f, 0.25f)}, {});
  with_program({activation(ActivationType::kSIGMOID, 0)}, {});
  with_program({binary(ElementWiseOperation::kSUM, 0, 1), activation(ActivationType::kRELU, 2)},
               {{2, 3, 9, 21}});
  with_program({binary(ElementWiseOperation::kPROD, 0, 1)}, {{1, 3, 1, 1}});
}

TEST(DotConvolutionTest, OtherShapesWithTheSameKernel) {
  const auto op = sliding(3, {3, 3}, {1, 1}, {1, 1});
  LayerTest test = layer(op, {1, 24, 56, 56});
  ASSERT_EQ(test.offer(kDotConvolutionName), "");
  for (const Shape& shape : {Shape{4, 24, 7, 5}, Shape{1, 24, 1, 1}, Shape{3, 24, 33, 170}}) {
    test.set_inputs(inputs_of(op, shape));
    expect_close(test.run(), test.reference(), kDotConvolutionRelative);
  }
}

TEST(DotConvolutionTest, ThreadsDoNotMatter) {
  LayerTest test = layer(sliding(3, {5, 5}, {1, 1}, {2, 2}), {2, 40, 61, 50});
  ASSERT_EQ(test.offer(kDotConvolutionName), "");
  expect_identical_with(test, {1, 2, 5});
}

TEST(DotConvolutionTest, SaysWhatItDoesNotTake) {
  const auto refusal = [](const Convolution& op, const Shape& shape) {
    return layer(op, shape).offer(kDotConvolutionName);
  };
  EXPECT_THAT(refusal(sliding(13, {3, 3}, {1, 1}, {1, 1}), {1, 16, 8, 8}),
              HasSubstr("few output channels"));
  EXPECT_THAT(refusal(sliding(4, {3, 3}, {1, 1}, {1, 1}, 2), {1, 32, 8, 8}), HasSubstr("group 1"));
  EXPECT_THAT(refusal(sliding(3, {3, 3}, {1, 1}, {1, 1}), {1, 3, 8, 8}),
              HasSubstr("too few channels"));
  EXPECT_THAT(refusal(sliding(3, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}), {1, 16, 8, 8, 8}),
              HasSubstr("spatial axes"));
  EXPECT_THAT(refusal(sliding(3, {1, 1}, {1, 2000}, {0, 0}), {1, 16, 8, 8}),
              HasSubstr("up to 1024"));
  const int before = thread_count();
  set_thread_count(2);  // what may be copied grows with the threads
  EXPECT_THAT(refusal(with(sliding(3, {15, 3}, {1, 1000}, {0, 0}),
                           [](auto& op) { op.dilation = {1, 500}; }),
                      {1, 256, 15, 1001}),
              HasSubstr("kernel_shape, dilations and channels"));
  set_thread_count(before);
}

TEST(DotConvolutionTest, DamagedStoredKernelsAreErrors) {
  LayerTest test = layer(sliding(3, {1, 1}, {1, 1}, {0, 0}), {1, 32, 8, 8});
  ASSERT_EQ(test.offer(kDotConvolutionName), "");
  const auto error_after = [&](auto&& damage) { return error_of_stored(test, damage); };
  EXPECT_EQ(error_after([](StoredKernel&) {}), "");
  EXPECT_THAT(error_after([](StoredKernel& s) { s.packed.pop_back(); }),
              HasSubstr("expected weights and bias"));
  EXPECT_THAT(error_after([](StoredKernel& s) { s.packed[0] = Tensor(DataType::kFLOAT, {7}); }),
              HasSubstr("vectors under a window and 3 output channels"));
  EXPECT_THAT(error_after([](StoredKernel& s) { s.packed[1] = Tensor(DataType::kFLOAT, {4}); }),
              HasSubstr("vectors under a window and 3 output channels"));
}

// A plan may be damaged in what it says of tensors, too.
TEST(DotConvolutionTest, OtherChannelsOrLayoutsThanWeightsAreForAreErrors) {
  LayerTest test = layer(sliding(3, {1, 1}, {1, 1}, {0, 0}), {1, 32, 8, 8});
  ASSERT_EQ(test.offer(kDotConvolutionName), "");
  const auto error_with = [&](int64_t channels, int64_t output_channels, Layout layout) {
    const TensorSpec inputs[] = {{DataType::kFLOAT, layout, {1, channels, 8, 8}},
                                 {DataType::kFLOAT, Layout::kLinear, {3, channels, 1, 1}},
                                 {DataType::kFLOAT, Layout::kLinear, {3}}};
    const TensorSpec output{DataType::kFLOAT, Layout::kLinear, {1, output_channels, 8, 8}};
    return error_of([&] { test.kernel().prepare(inputs, {&output, 1}); });
  };
  const Layout layout = test.kernel().input_layouts[0];
  EXPECT_EQ(error_with(32, 3, layout), "");
  EXPECT_NE(error_with(64, 3, layout), "");
  EXPECT_NE(error_with(32, 4, layout), "");
  EXPECT_THAT(error_with(32, 3, Layout::kLinear), HasSubstr("must lie in blocks"));
  EXPECT_THAT(
      error_with(32, 3, layout == Layout::kBlocked8 ? Layout::kBlocked16 : Layout::kBlocked8),
      HasSubstr("must lie in blocks"));
}

}  // namespace
}  // namespace tenon::cpu
