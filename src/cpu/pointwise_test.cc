// Element-wise layers of floats: what is the CPU's own.
#include "ops/pointwise.h"

#include "backend/accuracy_testing.h"
#include "ops/activation.h"
#include "ops/elementwise.h"
#include "ops/unary.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::UnaryOperation;
using Family = PointwiseStep::Family;

TEST(CpuPointwiseTest, EveryArithmeticOperationOfTwoTensors) {
  for (int type = 0; type <= 7; ++type) {
    SCOPED_TRACE(type);
    ElementWise op;
    op.operation = static_cast<ElementWiseOperation>(type);
    LayerTest test(op, {data({2, 5, 600}, 1), data({2, 5, 600}, 2)});
    ASSERT_EQ(test.offer("pointwise"), "");
    expect_accurate(test.run(), test.reference(), 0, 1);
  }
}

TEST(CpuPointwiseTest, Squares) {
  ElementWise op;
  op.operation = ElementWiseOperation::kPOW;
  TestInput two = constant({1, 1, 1});
  *two.tensor->mutable_data<float>() = 2;
  LayerTest test(op, {data({2, 5, 600}), two});
  ASSERT_EQ(test.offer("pointwise"), "");
  expect_accurate(test.run(), test.reference(), 1, 1e-30);
}

TEST(CpuPointwiseTest, PaddingChannelsBecomeZero) {
  Activation op;
  op.type = ActivationType::kSIGMOID;  // of 0 is 0.5
  LayerTest test(op, {data({2, 19, 5, 7}, 1, Layout::kBlocked16)});
  ASSERT_EQ(test.offer("pointwise"), "");
  expect_accurate(test.run(), test.reference(), 4, 0.1);  // run() looks at the padding
}

TEST(CpuPointwiseTest, TooManyLiveValuesAreRefused) {
  Pointwise op;
  for (int32_t i = 0; i < 30; ++i)
    op.program.steps.push_back({Family::kUnary, static_cast<int32_t>(UnaryOperation::kABS), 0, -1});
  for (int32_t i = 0; i < 29; ++i)
    op.program.steps.push_back({Family::kElementWise,
                                static_cast<int32_t>(ElementWiseOperation::kSUM), 1 + i,
                                op.program.step_register(op.program.steps.size() - 1)});
  LayerTest test(op, {data({1, 2, 3})});
  EXPECT_THAT(test.offer("pointwise"), testing::HasSubstr("live values"));
}

TEST(CpuPointwiseTest, IntegersAreLeftToTheReference) {
  ElementWise op;
  LayerTest test(op, {{Tensor(DataType::kINT32, {3}), false, Layout::kLinear},
                      {Tensor(DataType::kINT32, {3}), false, Layout::kLinear}});
  EXPECT_EQ(test.offer("pointwise"), "only float32 is supported");
}

}  // namespace
}  // namespace tenon::cpu
