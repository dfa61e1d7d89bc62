#include "cpu/bfloat_testing.h"
#include "cpu/simd/bfloat_product.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using ::testing::HasSubstr;

constexpr const char* kBfloatConvolutionName = "bfloat_convolution";

using BfloatConvolutionCase = LayerCase<Convolution>;

const BfloatConvolutionCase kBfloatConvolutionCases[] = {
    {"vectors", one_element(64), {1, 32, 12, 12}},
    {"odd", one_element(37), {2, 29, 9, 13}},
    {"deep", one_element(20), {1, 700, 3, 3}},
    {"many_blocks", one_element(33), {1, 17, 64, 65}},
    {"one_pixel", one_element(64), {2, 64, 1, 1}},
    {"halving", one_element(40, {2, 2}), {2, 24, 15, 14}},
    {"halving_columns", one_element(40, {1, 2}), {1, 24, 8, 31}},
    {"no_images", one_element(16), {0, 16, 6, 5}},
    {"one_channel", one_element(24), {2, 1, 9, 8}},
    {"stem", sliding(32, {3, 3}, {2, 2}, {1, 1}), {1, 3, 33, 40}},
    {"seven", sliding(64, {7, 7}, {2, 2}, {3, 3}), {1, 3, 56, 56}},
    {"square", sliding(64, {3, 3}, {1, 1}, {1, 1}), {2, 4, 21, 130}, false},
    {"unlike_axes", sliding(18, {5, 2}, {1, 2}, {2, 1}), {1, 2, 8, 23}},
    {"dilated",
     with(sliding(18, {3, 3}, {1, 1}, {2, 3}), [](auto& op) { op.dilation = {2, 3}; }),
     {1, 3, 9, 20}},
    {"dilated_and_far",
     with(sliding(18, {3, 3}, {2, 3}, {2, 3}), [](auto& op) { op.dilation = {3, 2}; }),
     {1, 40, 19, 20}},
    {"asymmetric",
     with(sliding(16, {3, 3}, {2, 2}, {0, 0}), [](auto& op) { op.post_padding = {1, 2}; }),
     {1, 3, 12, 12}},
    {"same_upper",
     with(sliding(16, {5, 5}, {2, 2}, {0, 0}),
          [](auto& op) { op.padding_mode = nvinfer1::PaddingMode::kSAME_UPPER; }),
     {1, 3, 13, 14}},
    {"padding_beyond_data", sliding(16, {3, 3}, {1, 1}, {4, 6}), {1, 3, 2, 1}},
    {"data_beyond_windows", sliding(16, {1, 1}, {4, 3}, {0, 0}), {1, 3, 9, 11}},
    {"no_rows", sliding(16, {2, 2}, {1, 1}, {1, 1}), {1, 3, 0, 4}},
    {"blocks", sliding(40, {3, 3}, {1, 1}, {1, 1}), {2, 24, 7, 15}},
    {"halving_windows", sliding(64, {3, 3}, {2, 2}, {1, 1}), {1, 48, 14, 14}},
    {"many_channels", sliding(33, {3, 3}, {2, 2}, {1, 1}), {1, 130, 14, 14}},
};

class BfloatConvolutionTest : public testing::TestWithParam<BfloatConvolutionCase> {
 protected:
  void SetUp() override {
    if (bfloat_kernels() == nullptr) GTEST_SKIP() << kNoBfloat;
  }
};

TEST_P(BfloatConvolutionTest, EqualsReference) {
  const auto& [name, op, shape, has_bias] = GetParam();
  LayerTest test = bfloat_layer(op, inputs_of(op, shape, has_bias));
  check(test, kBfloatConvolutionName, 2e-6);
}

TEST_P(BfloatConvolutionTest, ComputesEpilogues) {
  const auto& [name, plain, shape, has_bias] = GetParam();
  const Shape result = layer(plain, shape).output_shape();
  const auto with_program = [&, &plain = plain, &shape = shape](std::vector<PointwiseStep> steps,
                                                                bool has_operand) {
    Convolution op = plain;
    op.epilogue.inputs = has_operand ? 2 : 1;
    op.epilogue.steps = std::move(steps);
    auto inputs = inputs_of(op, shape);
    if (has_operand) inputs.push_back(data(result, 7));
    LayerTest test = bfloat_layer(op, inputs);
    check(test, kBfloatConvolutionName, 2e-6);
  };
  with_program({activation(ActivationType::kRELU, 0)}, false);
  with_program({activation(ActivationType::kCLIP, 0, -4, 12)}, false);
  with_program({activation(ActivationType::kSIGMOID, 0), binary(ElementWiseOperation::kPROD, 0, 1)},
               false);
  with_program({binary(ElementWiseOperation::kSUM, 0, 1), activation(ActivationType::kRELU, 2)},
               true);
}

TEST_P(BfloatConvolutionTest, DoesNotDependOnThreads) {
  const auto& [name, op, shape, has_bias] = GetParam();
  LayerTest test = bfloat_layer(op, inputs_of(op, shape, has_bias));
  ASSERT_EQ(test.offer(kBfloatConvolutionName), "");
  expect_identical_with(test, {1, 2, 5});
}

INSTANTIATE_TEST_SUITE_P(Shapes, BfloatConvolutionTest, testing::ValuesIn(kBfloatConvolutionCases),
                         [](const auto& i) { return i.param.name; });

TEST(BfloatConvolutionPlansTest, DamagedOnesAreRefused) {
  if (bfloat_kernels() == nullptr) GTEST_SKIP() << kNoBfloat;
  const Convolution op = sliding(16, {3, 3}, {1, 1}, {1, 1});
  LayerTest test = bfloat_layer(op, inputs_of(op, {1, 24, 6, 6}));
  ASSERT_EQ(test.offer(kBfloatConvolutionName), "");
  EXPECT_THAT(
      error_of_stored(test, [](StoredKernel& s) { s.packed[0] = Tensor(DataType::kBF16, {7}); }),
      HasSubstr("do not fit 24 channels and 16 output channels"));
}

TEST(BfloatConvolutionPlansTest, GroupsAreRefused) {
  if (bfloat_kernels() == nullptr) GTEST_SKIP() << kNoBfloat;
  const Convolution op = sliding(16, {3, 3}, {1, 1}, {1, 1}, 2);
  EXPECT_THAT(bfloat_layer(op, inputs_of(op, {1, 32, 6, 6})).offer(kBfloatConvolutionName),
              HasSubstr("only group 1"));
}

}  // namespace
}  // namespace tenon::cpu
