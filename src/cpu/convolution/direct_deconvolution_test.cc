#include "base/parallel.h"
#include "common/convolution_testing.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using Family = PointwiseStep::Family;

constexpr char kDirectDeconvolutionName[] = "direct_deconvolution";
// Sums of some hundred products, in another order than the reference's.
constexpr double kDirectDeconvolutionTolerance = 4e-6;

Deconvolution direct_deconvolution(int64_t output_channels, const Shape& kernel) {
  return sliding<Deconvolution>(output_channels, kernel, kernel, {0, 0});
}

using DirectDeconvolutionCase = LayerCase<Deconvolution>;

class DirectDeconvolutionTest : public testing::TestWithParam<DirectDeconvolutionCase> {};

TEST_P(DirectDeconvolutionTest, EqualsReference) {
  const auto& [name, op, shape, has_bias] = GetParam();
  LayerTest test = layer(op, shape, has_bias);
  check(test, kDirectDeconvolutionName, kDirectDeconvolutionTolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, DirectDeconvolutionTest,
    testing::Values(
        DirectDeconvolutionCase{"twice", direct_deconvolution(32, {2, 2}), {1, 24, 40, 37}},
        DirectDeconvolutionCase{
            "one_output_channel", direct_deconvolution(1, {2, 2}), {2, 24, 33, 16}},
        DirectDeconvolutionCase{"uneven", direct_deconvolution(7, {3, 2}), {2, 5, 7, 9}},
        DirectDeconvolutionCase{"many_channels", direct_deconvolution(5, {2, 2}), {1, 600, 6, 5}},
        DirectDeconvolutionCase{
            "many_output_channels", direct_deconvolution(150, {2, 2}), {1, 9, 5, 19}},
        DirectDeconvolutionCase{"once", direct_deconvolution(10, {1, 1}), {1, 8, 5, 5}},
        DirectDeconvolutionCase{
            "without_bias", direct_deconvolution(20, {2, 4}), {1, 8, 5, 5}, false},
        DirectDeconvolutionCase{"no_images", direct_deconvolution(4, {2, 2}), {0, 6, 3, 4}}),
    [](const auto& i) { return i.param.name; });

TEST(DirectDeconvolutionTest, RunsTheEpilogue) {
  Deconvolution op = direct_deconvolution(24, {2, 2});
  op.epilogue = {2,
                 {},
                 {{Family::kElementWise, static_cast<int32_t>(ElementWiseOperation::kSUM), 0, 1},
                  {Family::kActivation, static_cast<int32_t>(ActivationType::kRELU), 2, -1}}};
  LayerTest test(op, {data({2, 8, 9, 7}), constant({8, 24, 2, 2}), constant({24}),
                      data({2, 24, 18, 14}, 4, Layout::kBlocked16)});
  check(test, kDirectDeconvolutionName, kDirectDeconvolutionTolerance);
}

TEST(DirectDeconvolutionTest, OtherShapesWithTheSameKernel) {
  const Deconvolution op = direct_deconvolution(10, {2, 2});
  LayerTest test = layer(op, {1, 5, 26, 16});
  ASSERT_EQ(test.offer(kDirectDeconvolutionName), "");
  for (const Shape& shape : {Shape{1, 5, 26, 16}, Shape{4, 5, 7, 5}, Shape{1, 5, 1, 1}}) {
    test.set_inputs({data(shape, 7), constant({5, 10, 2, 2}), constant({10}, 3)});
    expect_close(test.run(), test.reference(), kDirectDeconvolutionTolerance);
  }
}

TEST(DirectDeconvolutionTest, ThreadsDoNotMatter) {
  LayerTest test = layer(direct_deconvolution(100, {2, 2}), {1, 64, 13, 30});
  ASSERT_EQ(test.offer(kDirectDeconvolutionName), "");
  expect_identical_with(test, {1, 2, 5});
}

TEST(DirectDeconvolutionTest, RefusesWhatItCannotDo) {
  const auto refusal = [](const Deconvolution& op) {
    LayerTest test(op, {data({1, 8, 5, 6}), constant(weights_of(op, 8))});
    return test.offer(kDirectDeconvolutionName);
  };
  const auto op = direct_deconvolution(4, {2, 2});
  EXPECT_THAT(refusal(with(op, [](auto& d) { d.stride = {1, 2}; })), testing::HasSubstr("overlap"));
  EXPECT_THAT(refusal(with(op, [](auto& d) { d.stride = {2, 3}; })), testing::HasSubstr("gaps"));
  EXPECT_THAT(refusal(with(op, [](auto& d) { d.dilation = {2, 1}; })),
              testing::HasSubstr("overlap"));
  EXPECT_THAT(refusal(with(op, [](auto& d) { d.pre_padding = {0, 1}; })),
              testing::HasSubstr("padding"));
  EXPECT_THAT(refusal(with(op, [](auto& d) { d.output_padding = {0, 1}; })),
              testing::HasSubstr("padding"));
  EXPECT_THAT(refusal(with(op, [](auto& d) { d.groups = 2; })), testing::HasSubstr("group 1"));
}

TEST(DirectDeconvolutionTest, DamagedStoredKernelsAreErrors) {
  LayerTest test = layer(direct_deconvolution(24, {2, 2}), {1, 8, 9, 7});
  ASSERT_EQ(test.offer(kDirectDeconvolutionName), "");
  const auto error_after = [&](auto&& damage) { return error_of_stored(test, damage); };
  EXPECT_EQ(error_after([](StoredKernel&) {}), "");
  EXPECT_THAT(error_after([](StoredKernel& s) { s.packed.pop_back(); }),
              testing::HasSubstr("expected weights and bias"));
  EXPECT_THAT(error_after([](StoredKernel& s) { s.packed[0] = Tensor(DataType::kFLOAT, {7}); }),
              testing::HasSubstr("do not fit 8 channels"));
  EXPECT_THAT(error_after([](StoredKernel& s) { s.packed[1] = Tensor(DataType::kFLOAT, {16}); }),
              testing::HasSubstr("do not fit 8 channels"));
}

}  // namespace
}  // namespace tenon::cpu
