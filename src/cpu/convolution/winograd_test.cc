#include "base/parallel.h"
#include "common/convolution_testing.h"
#include "cpu/convolution/winograd_weights.h"
#include "cpu/kernels.h"
#include "cpu/simd/kernels.h"
#include "ops/convolution.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;

// Of the largest result. A direct convolution of that many products has no smaller one.
constexpr double kWinogradTolerance = 4e-6;

// A kernel that was chosen for large images, which it is offered for, runs on others too.
LayerTest made_for_large(const Convolution& op, const Shape& shape, bool has_bias = true) {
  LayerTest test = layer(op, {1, shape[1], 96, 96}, has_bias);
  const std::string refusal = test.offer("winograd");
  require(refusal.empty(), "{}", refusal);
  test.set_inputs(inputs_of(op, shape, has_bias));
  return test;
}

struct WinogradCase {
  const char* name;
  int64_t output_channels;
  Shape pre, post, data;
  bool has_bias = true;
  Shape kernel = {3, 3}, stride = {1, 1};
};

class WinogradTest : public testing::TestWithParam<WinogradCase> {};

TEST_P(WinogradTest, EqualsReference) {
  const WinogradCase& c = GetParam();
  Convolution op = sliding(c.output_channels, c.kernel, c.stride, c.pre);
  op.post_padding = c.post;
  LayerTest test = made_for_large(op, c.data, c.has_bias);
  const Tensor expected = test.reference(), actual = test.run();
  expect_close(actual, expected, kWinogradTolerance);
  expect_identical(test.run(*test.load(test.stored())), actual);
  for (auto& other : test.kernel().variants()) {
    other->input_on_host = test.kernel().input_on_host;
    EXPECT_NE(other->variant, test.kernel().variant);
    expect_close(test.run(*other), expected, kWinogradTolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, WinogradTest,
    testing::Values(WinogradCase{"whole_tiles", 32, {1, 1}, {1, 1}, {1, 32, 16, 24}},
                    WinogradCase{"parts_of_tiles", 16, {1, 1}, {1, 1}, {1, 16, 13, 18}},
                    WinogradCase{"odd_channels", 37, {1, 1}, {1, 1}, {2, 21, 9, 11}},
                    WinogradCase{"three_vectors", 48, {1, 1}, {1, 1}, {1, 48, 10, 10}},
                    WinogradCase{"no_padding", 24, {0, 0}, {0, 0}, {1, 40, 12, 7}},
                    WinogradCase{"wide_padding", 16, {7, 9}, {8, 3}, {1, 16, 3, 2}},
                    WinogradCase{"unlike_padding", 16, {0, 2}, {1, 0}, {3, 18, 8, 9}},
                    WinogradCase{"one_pixel", 64, {1, 1}, {1, 1}, {5, 64, 1, 1}},
                    WinogradCase{"many_blocks", 16, {1, 1}, {1, 1}, {2, 16, 90, 70}},
                    WinogradCase{"rows_of_pages", 24, {1, 1}, {1, 1}, {2, 48, 9, 128}},
                    WinogradCase{"deep", 320, {1, 1}, {1, 1}, {1, 288, 7, 7}},
                    WinogradCase{"without_bias", 16, {1, 1}, {1, 1}, {1, 16, 6, 5}, false},
                    WinogradCase{"no_images", 16, {1, 1}, {1, 1}, {0, 16, 6, 5}}),
    [](const auto& i) { return i.param.name; });

// Sums of parts that are windows of 3x3 or less.
INSTANTIATE_TEST_SUITE_P(
    Windows, WinogradTest,
    testing::Values(
        WinogradCase{"3x3_stride_2", 32, {1, 1}, {1, 1}, {2, 32, 15, 22}, true, {3, 3}, {2, 2}},
        WinogradCase{"3x3_stride_2_even", 45, {0, 0}, {1, 1}, {1, 29, 24, 8}, true, {3, 3}, {2, 2}},
        WinogradCase{"3x3_stride_2_small", 64, {1, 1}, {1, 1}, {1, 48, 2, 1}, true, {3, 3}, {2, 2}},
        WinogradCase{"3x3_stride_2_rows_of_pages",
                     32,
                     {1, 1},
                     {1, 1},
                     {1, 40, 11, 128},
                     true,
                     {3, 3},
                     {2, 2}},
        WinogradCase{"3x3_stride_2_and_1", 32, {1, 1}, {1, 1}, {1, 16, 9, 9}, true, {3, 3}, {2, 1}},
        WinogradCase{"3x3_stride_1_and_2", 32, {1, 1}, {1, 1}, {1, 16, 9, 9}, true, {3, 3}, {1, 2}},
        WinogradCase{"2x2", 16, {0, 0}, {0, 0}, {1, 16, 9, 9}, true, {2, 2}},
        WinogradCase{"4x4", 16, {1, 2}, {2, 1}, {1, 16, 9, 9}, true, {4, 4}},
        WinogradCase{"4x4_stride_2", 32, {1, 1}, {1, 1}, {1, 32, 16, 16}, true, {4, 4}, {2, 2}},
        WinogradCase{"5x5", 32, {2, 2}, {2, 2}, {2, 40, 21, 14}, true, {5, 5}},
        WinogradCase{"5x5_stride_2", 32, {2, 2}, {2, 2}, {1, 32, 21, 14}, true, {5, 5}, {2, 2}},
        WinogradCase{"7x7", 32, {3, 3}, {3, 3}, {1, 24, 12, 19}, true, {7, 7}},
        WinogradCase{"1x7", 32, {0, 3}, {0, 3}, {1, 32, 12, 19}, true, {1, 7}},
        WinogradCase{"7x1", 32, {3, 0}, {3, 0}, {1, 32, 12, 19}, true, {7, 1}},
        WinogradCase{"few_channels_9x9", 64, {4, 4}, {4, 4}, {2, 3, 31, 50}, true, {9, 9}},
        WinogradCase{"few_channels_wide", 16, {4, 4}, {4, 4}, {1, 3, 5, 300}, true, {9, 9}},
        WinogradCase{"one_channel_9x9", 16, {0, 0}, {0, 0}, {1, 1, 20, 33}, true, {9, 9}},
        WinogradCase{"four_channels_5x5", 32, {2, 2}, {2, 2}, {1, 4, 7, 6}, true, {5, 5}},
        WinogradCase{"few_channels_stride_2_and_1",
                     32,
                     {3, 3},
                     {0, 3},
                     {2, 3, 16, 20},
                     true,
                     {6, 8},
                     {2, 1}},
        WinogradCase{
            "few_channels_far_padding", 16, {20, 30}, {9, 40}, {1, 4, 3, 2}, true, {7, 7}}),
    [](const auto& i) { return i.param.name; });

// Numbers that do not depend on threads, nor on which blocks they make.
TEST(WinogradTest, ThreadsDoNotMatter) {
  LayerTest test = layer(sliding(64, {3, 3}, {1, 1}, {1, 1}), {1, 64, 14, 14});
  ASSERT_EQ(test.offer("winograd"), "");
  expect_identical_with(test, {1, 2, 5});
}

struct WinogradEpilogueCase {
  const char* name;
  PointwiseProgram program;
  std::vector<Shape> operands;  // beside a result of 2x24x19x17
};

class WinogradEpilogueTest : public testing::TestWithParam<WinogradEpilogueCase> {};

TEST_P(WinogradEpilogueTest, EqualsReference) {
  const auto& [name, program, operands] = GetParam();
  Convolution op = sliding(24, {3, 3}, {1, 1}, {1, 1});
  op.epilogue = program;
  std::vector<TestInput> inputs = {data({2, 24, 19, 17}), constant(weights_of(op, 24)),
                                   constant({24}, 3)};
  for (const Shape& shape : operands) inputs.push_back(data(shape, 11));
  LayerTest test(op, inputs);
  check(test, "winograd", kWinogradTolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, WinogradEpilogueTest,
    testing::Values(
        WinogradEpilogueCase{"relu", {1, {}, {activation(ActivationType::kRELU, 0)}}, {}},
        WinogradEpilogueCase{"clip", {1, {}, {activation(ActivationType::kCLIP, 0, -0.5f, 6)}}, {}},
        WinogradEpilogueCase{
            "clip_without_zero", {1, {}, {activation(ActivationType::kCLIP, 0, 0.25f, 6)}}, {}},
        WinogradEpilogueCase{
            "silu",
            {1,
             {},
             {activation(ActivationType::kSIGMOID, 0), binary(ElementWiseOperation::kPROD, 0, 1)}},
            {}},
        WinogradEpilogueCase{
            "residual",
            {2,
             {},
             {binary(ElementWiseOperation::kSUM, 0, 1), activation(ActivationType::kRELU, 2)}},
            {{2, 24, 19, 17}}},
        WinogradEpilogueCase{
            "constant_and_channels",
            {2,
             {3.5f},
             {binary(ElementWiseOperation::kPROD, 0, 1), binary(ElementWiseOperation::kSUM, 3, 2)}},
            {{1, 24, 1, 1}}}),
    [](const auto& i) { return i.param.name; });

TEST(WinogradTest, OtherShapesWithTheSameKernel) {
  const Convolution op = sliding(24, {3, 3}, {1, 1}, {1, 1});
  LayerTest test = layer(op, {1, 40, 56, 56});
  ASSERT_EQ(test.offer("winograd"), "");
  for (const Shape& shape : {Shape{4, 40, 7, 5}, Shape{1, 40, 1, 1}, Shape{3, 40, 33, 70}}) {
    test.set_inputs({data(shape, 7), constant(weights_of(op, 40)), constant({24}, 3)});
    expect_close(test.run(), test.reference(), kWinogradTolerance);
  }
}

// Those of a plan that was built on another machine.
TEST(WinogradTest, WeightsForOtherVectorsAreRearranged) {
  const Tensor weights = random_tensor({45, 29, 3, 3}, 5);
  const Convolution op = sliding(45, {3, 3}, {2, 2}, {1, 1});
  const auto& tile = simd_kernels().winograd.tiles[1];
  const WinogradForm few_lanes(op, 29, tile, 8), wide(op, 29, tile, 16);
  expect_identical(rearranged(winograd_weights(weights, few_lanes), few_lanes, wide),
                   winograd_weights(weights, wide));
  LayerTest test = made_for_large(op, {1, 29, 9, 11});
  const int lanes = simd_kernels().winograd.lanes, others = lanes == 8 ? 16 : 8;
  StoredKernel stored = test.stored();
  const WinogradForm here(op, 29, tile, lanes), there(op, 29, tile, others);
  stored.packed[0] = rearranged(stored.packed[0], here, there);
  stored.packed[1] = winograd_bias(stored.packed[1], there);
  for (auto& [name, value] : stored.state)
    if (name == "lanes") value = int64_t{others};
  expect_identical(test.run(*test.load(stored)), test.run());
}

// Tiles of 8x8 are faster and less exact.
TEST(WinogradTest, LargeTilesNeedTf32) {
  struct Expected {
    Shape kernel;
    std::vector<std::string> exact, with_tf32;
  };
  const Expected cases[] = {{{3, 3}, {"6x6", "4x4"}, {"8x8", "4x4", "6x6"}},
                            {{5, 5}, {"6x6", "4x4"}, {"8x8 for 5x5", "4x4", "6x6", "8x8"}}};
  for (const auto& [kernel, exact, with_tf32] : cases) {
    const Convolution op = sliding(32, kernel, {1, 1}, {kernel[0] / 2, kernel[1] / 2});
    LayerTest test = layer(op, {1, 32, 61, 50});
    const TensorSpec inputs[] = {{DataType::kFLOAT, Layout::kLinear, {1, 32, 61, 50}},
                                 {DataType::kFLOAT, Layout::kLinear, weights_of(op, 32)},
                                 {DataType::kFLOAT, Layout::kLinear, {32}}};
    const TensorSpec output{DataType::kFLOAT, Layout::kLinear, test.output_shape()};
    const auto given = inputs_of(op, {1, 32, 61, 50}, true);
    const Tensor* const constants[] = {nullptr, &*given[1].tensor, &*given[2].tensor};
    const Tensor expected = test.reference();
    for (const bool tf32 : {false, true}) {
      KernelRequest request{op, inputs, {&output, 1}, constants};
      request.tf32 = tf32;
      Offer offer = offer_winograd(request);
      ASSERT_TRUE(std::holds_alternative<std::unique_ptr<Kernel>>(offer));
      auto first = std::move(std::get<std::unique_ptr<Kernel>>(offer));
      auto kernels = first->variants();
      kernels.insert(kernels.begin(), std::move(first));
      std::vector<std::string> variants;
      for (const auto& made : kernels) {
        complete(*made, request);
        variants.push_back(made->variant);
        expect_close(test.run(*made), expected,
                     made->variant[0] == '8' ? 2e-5 : kWinogradTolerance);
      }
      EXPECT_EQ(variants, tf32 ? with_tf32 : exact);
    }
  }
}

TEST(WinogradTest, DamagedStoredKernelsAreErrors) {
  LayerTest test = layer(sliding(32, {3, 3}, {1, 1}, {1, 1}), {1, 32, 16, 16});
  ASSERT_EQ(test.offer("winograd"), "");
  const auto error_after = [&](auto&& damage) { return error_of_stored(test, damage); };
  EXPECT_EQ(error_after([](StoredKernel&) {}), "");
  EXPECT_THAT(error_after([](StoredKernel& s) { s.state.clear(); }),
              testing::HasSubstr("tile is missing"));
  EXPECT_THAT(error_after([](StoredKernel& s) { s.state[0].second = int64_t{5}; }),
              testing::HasSubstr("tiles of 5"));
  EXPECT_THAT(error_after([](StoredKernel& s) { s.packed.pop_back(); }),
              testing::HasSubstr("do not fit"));
  EXPECT_THAT(error_after([](StoredKernel& s) { s.packed[0] = Tensor(DataType::kFLOAT, {7}); }),
              testing::HasSubstr("do not fit"));
}

// A plan may be damaged in what it says of tensors, too.
TEST(WinogradTest, OtherChannelsOrLayoutsThanWeightsAreForAreErrors) {
  LayerTest test = layer(sliding(32, {3, 3}, {1, 1}, {1, 1}), {1, 32, 16, 16});
  ASSERT_EQ(test.offer("winograd"), "");
  const Layout blocks = test.kernel().output_layouts[0];
  const auto error_with = [&](int64_t channels, Layout layout) {
    const TensorSpec inputs[] = {{DataType::kFLOAT, layout, {1, channels, 8, 8}},
                                 {DataType::kFLOAT, Layout::kLinear, {32, channels, 3, 3}},
                                 {DataType::kFLOAT, Layout::kLinear, {32}}};
    const TensorSpec output{DataType::kFLOAT, layout, {1, 32, 16, 16}};
    return error_of([&] { test.kernel().prepare(inputs, {&output, 1}); });
  };
  EXPECT_EQ(error_with(32, blocks), "");
  EXPECT_THAT(error_with(64, blocks), testing::HasSubstr("do not fit 64 channels"));
  EXPECT_THAT(error_with(32, Layout::kLinear), testing::HasSubstr("must lie in blocks"));
}

TEST(WinogradTest, IsForWindowsThatItSavesMultiplicationsOf) {
  const auto offer = [](Convolution op, const Shape& shape) {
    return layer(op, shape).offer("winograd");
  };
  const Convolution good = sliding(32, {3, 3}, {1, 1}, {1, 1});
  EXPECT_EQ(offer(good, {1, 32, 16, 16}), "");
  const auto refused = testing::HasSubstr("only windows of two axes");
  EXPECT_THAT(offer(sliding(32, {3, 3}, {3, 1}, {1, 1}), {1, 32, 16, 16}), refused);
  EXPECT_THAT(offer(sliding(32, {17, 3}, {1, 1}, {8, 1}), {1, 32, 16, 16}), refused);
  EXPECT_THAT(offer(sliding(32, {3, 3}, {1, 1}, {1, 1}, 2), {1, 32, 16, 16}), refused);
  EXPECT_THAT(offer(with(good, [](Convolution& op) { op.dilation = {2, 1}; }), {1, 32, 16, 16}),
              refused);
  const auto useless = testing::HasSubstr("no faster than a direct convolution");
  EXPECT_THAT(offer(sliding(32, {1, 1}, {1, 1}, {0, 0}), {1, 32, 16, 16}), useless);
  EXPECT_THAT(offer(sliding(32, {2, 2}, {2, 2}, {0, 0}), {1, 32, 16, 16}), useless);
  // Vectors that are mostly padding.
  EXPECT_THAT(offer(sliding(3, {3, 3}, {1, 1}, {1, 1}), {1, 32, 16, 16}), useless);
  EXPECT_THAT(offer(good, {1, 1, 16, 16}), useless);
  EXPECT_THAT(offer(sliding(32, {9, 9}, {1, 2}, {1, 1}), {1, 3, 96, 96}),
              testing::HasSubstr("a stride of 1 along rows"));
}

}  // namespace
}  // namespace tenon::cpu
