#include "common/convolution_testing.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using Family = PointwiseStep::Family;

// Sums of some hundred products, in another order than the reference's.
constexpr double kDeconvolutionTolerance = 4e-6;

Deconvolution deconvolution(int64_t output_channels, const Shape& kernel, int64_t groups = 1) {
  Deconvolution op;
  op.output_channels = output_channels;
  op.kernel = op.stride = kernel;
  op.dilation = Shape::filled(kernel.rank(), 1);
  op.pre_padding = op.post_padding = Shape::filled(kernel.rank(), 0);
  op.groups = groups;
  return op;
}

void check_own(LayerTest& test) {
  check(test, "deconvolution", kDeconvolutionTolerance);
}

struct DeconvolutionCase {
  const char* name;
  Deconvolution op;
  Shape data;
};

class BlockDeconvolutionTest : public testing::TestWithParam<DeconvolutionCase> {};

TEST_P(BlockDeconvolutionTest, EqualsReference) {
  const auto& [name, op, shape] = GetParam();
  for (const Layout layout : {Layout::kLinear, Layout::kBlocked16}) {
    LayerTest test(op, {data(shape, 1, layout), constant(weights_of(op, shape[1])),
                        constant({op.output_channels}, 3)});
    check_own(test);
    LayerTest computed(op, {data(shape, 1, layout), data(weights_of(op, shape[1]), 5)});
    check_own(computed);
    EXPECT_FALSE(computed.kernel().input_is_packed[1]);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, BlockDeconvolutionTest,
    testing::Values(
        DeconvolutionCase{"twice", deconvolution(24, {2, 2}), {1, 24, 40, 37}},
        DeconvolutionCase{"one_output_channel", deconvolution(1, {2, 2}), {2, 24, 33, 16}},
        DeconvolutionCase{"uneven", deconvolution(7, {3, 2}), {2, 5, 7, 9}},
        DeconvolutionCase{"many_channels", deconvolution(5, {2, 2}), {1, 600, 6, 5}},
        DeconvolutionCase{"many_output_channels", deconvolution(150, {2, 2}), {1, 9, 5, 19}},
        DeconvolutionCase{"groups", deconvolution(12, {2, 4}, 3), {2, 9, 5, 6}},
        DeconvolutionCase{"depthwise", deconvolution(16, {2, 2}, 16), {1, 16, 5, 5}},
        DeconvolutionCase{"pointwise", deconvolution(10, {1, 1}), {1, 8, 5, 5}},
        DeconvolutionCase{"padding",
                          with(deconvolution(8, {4, 3}),
                               [](auto& op) {
                                 op.pre_padding = {5, 2};
                                 op.post_padding = {1, 4};
                               }),
                          {1, 8, 5, 6}},
        DeconvolutionCase{"output_padding_that_is_reached",
                          with(deconvolution(8, {3, 3}),
                               [](auto& op) {
                                 op.post_padding = {2, 1};
                                 op.output_padding = {1, 1};
                               }),
                          {1, 8, 5, 5}},
        DeconvolutionCase{"dilation_of_one_place",
                          with(deconvolution(8, {1, 2}), [](auto& op) { op.dilation = {3, 1}; }),
                          {1, 8, 5, 5}},
        DeconvolutionCase{"volume", deconvolution(4, {2, 3, 2}), {2, 6, 3, 4, 5}},
        DeconvolutionCase{"padded_volume",
                          with(deconvolution(4, {2, 2, 3}),
                               [](auto& op) {
                                 op.pre_padding = {1, 0, 2};
                                 op.post_padding = {2, 1, 0};
                               }),
                          {1, 6, 3, 4, 5}},
        DeconvolutionCase{"no_images", deconvolution(4, {2, 2}), {0, 6, 3, 4}}),
    [](const auto& i) { return i.param.name; });

TEST(BlockDeconvolutionTest, OtherShapesWithTheSameKernel) {
  const Deconvolution op = deconvolution(10, {2, 2});
  LayerTest test(op, {data({1, 5, 26, 16}), constant({5, 10, 2, 2}), constant({10})});
  ASSERT_EQ(test.offer("deconvolution"), "");
  for (const Shape& shape : {Shape{1, 5, 26, 16}, Shape{4, 5, 7, 5}, Shape{1, 5, 1, 1}}) {
    test.set_inputs({data(shape, 7), constant({5, 10, 2, 2}), constant({10})});
    expect_close(test.run(), test.reference(), kDeconvolutionTolerance);
  }
}

TEST(BlockDeconvolutionTest, RunsTheEpilogue) {
  Deconvolution op = deconvolution(24, {2, 2});
  op.epilogue = {2,
                 {},
                 {{Family::kElementWise, static_cast<int32_t>(ElementWiseOperation::kSUM), 0, 1},
                  {Family::kActivation, static_cast<int32_t>(ActivationType::kRELU), 2, -1}}};
  LayerTest test(op, {data({2, 8, 9, 7}), constant({8, 24, 2, 2}), constant({24}),
                      data({2, 24, 18, 14}, 4, Layout::kBlocked16)});
  check_own(test);
}

TEST(BlockDeconvolutionTest, RefusesWhatItCannotDo) {
  const auto refusal = [](const Deconvolution& op) {
    LayerTest test(op, {data({1, 8, 5, 6}), constant(weights_of(op, 8))});
    return test.offer("deconvolution");
  };
  const auto op = deconvolution(4, {2, 2});
  EXPECT_THAT(refusal(with(op, [](auto& d) { d.stride = {1, 2}; })), testing::HasSubstr("overlap"));
  EXPECT_THAT(refusal(with(op, [](auto& d) { d.stride = {2, 3}; })), testing::HasSubstr("gaps"));
  EXPECT_THAT(refusal(with(op, [](auto& d) { d.dilation = {2, 1}; })),
              testing::HasSubstr("overlap"));
  EXPECT_THAT(refusal(with(op, [](auto& d) { d.output_padding = {0, 1}; })),
              testing::HasSubstr("output padding"));
}

TEST(BlockDeconvolutionTest, DamagedWeightsAreErrors) {
  const Deconvolution op = deconvolution(24, {2, 2});
  LayerTest test(op, {data({1, 8, 9, 7}), constant({8, 24, 2, 2}), constant({24})});
  ASSERT_EQ(test.offer("deconvolution"), "");
  StoredKernel damaged = test.stored();
  damaged.packed[0] = Tensor(DataType::kFLOAT, {damaged.packed[0].count() - 1});
  EXPECT_THROW(test.load(damaged), Error);
  damaged.packed.resize(2);
  EXPECT_THROW(test.load(damaged), Error);
}

}  // namespace
}  // namespace tenon::cpu
