#include "ops/separable_convolution.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// 3x3 windows of 4 channels with a stride of 2, then 6 output channels.
SeparableConvolution separable() {
  SeparableConvolution op;
  op.depthwise.output_channels = op.depthwise.groups = 4;
  op.depthwise.kernel = {3, 3};
  op.depthwise.stride = {2, 2};
  op.depthwise.dilation = op.depthwise.pre_padding = op.depthwise.post_padding = {1, 1};
  op.pointwise.output_channels = 6;
  op.pointwise.kernel = op.pointwise.stride = op.pointwise.dilation = {1, 1};
  op.pointwise.pre_padding = op.pointwise.post_padding = {0, 0};
  return op;
}

Given numbers(const Shape& shape) {
  Tensor t(DataType::kFLOAT, shape);
  for (int64_t i = 0; i < t.count(); ++i)
    t.mutable_data<float>()[i] = static_cast<float>(i * 7 % 11) - 5;
  return input(t);
}

// Convolution's own results are compared with ONNX's in its test.
TEST(SeparableConvolution, IsTwoConvolutions) {
  const SeparableConvolution op = separable();
  const Given x = numbers({2, 4, 5, 7}), first = numbers({4, 1, 3, 3}),
              second = numbers({6, 4, 1, 1}), bias = numbers({6});
  const Tensor between = run(op.depthwise, {x, first})[0];
  const Tensor expected = run(op.pointwise, {input(between), second, bias})[0];
  const Tensor found = run(op, {x, first, std::nullopt, second, bias})[0];
  EXPECT_EQ(found.shape(), (Shape{2, 6, 3, 4}));
  EXPECT_EQ(op.between(found.shape()), between.shape());
  EXPECT_THAT(found.numbers(), ElementsAreArray(expected.numbers()));
}

TEST(SeparableConvolution, MistakesAreNamed) {
  const std::vector<std::optional<Given>> good{numbers({1, 4, 5, 7}), numbers({4, 1, 3, 3}),
                                               std::nullopt, numbers({6, 4, 1, 1})};
  SeparableConvolution op = separable();
  EXPECT_EQ(infer_error(op, good), "");
  auto inputs = good;
  inputs[3] = numbers({6, 3, 1, 1});
  EXPECT_THAT(infer_error(op, inputs),
              HasSubstr("expected 24 elements in the kernel (input 3), found 18"));
  inputs[3] = std::nullopt;
  EXPECT_THAT(infer_error(op, inputs), HasSubstr("the second kernel (input 3) is missing"));
  op.pointwise.stride = {2, 1};
  EXPECT_THAT(infer_error(op, good), HasSubstr("expected a second convolution of one element"));
  op = separable();
  op.depthwise.epilogue.inputs = 2;
  op.depthwise.epilogue.steps = {{PointwiseStep::Family::kElementWise, 0, 0, 1}};
  EXPECT_THAT(infer_error(op, good), HasSubstr("expected 1 operands of the epilogue, found 0"));
}

}  // namespace
}  // namespace tenon
