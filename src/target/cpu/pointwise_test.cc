#include "ops/pointwise.h"

#include "ops/activation.h"
#include "ops/elementwise.h"
#include "ops/scale.h"
#include "ops/unary.h"
#include "target/testing.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::ScaleMode;
using nvinfer1::UnaryOperation;
using Family = PointwiseStep::Family;

constexpr Layout kLayouts[] = {Layout::kLinear, Layout::kChannelsLast, Layout::kBlocked8,
                               Layout::kBlocked16};

/// Largest difference from the standard library's functions in double, in units of the last place
/// of a float of at least `floor`.
void expect_accurate(const Tensor& actual, const Tensor& expected, double ulps, double floor) {
  for (int64_t i = 0; i < actual.count(); ++i) {
    const double a = actual.data<float>()[i], e = expected.data<float>()[i];
    if (std::isnan(e) || std::isinf(e)) {
      ASSERT_TRUE(std::isnan(e) ? std::isnan(a) : a == e) << i << ": " << a << ", expected " << e;
      continue;
    }
    ASSERT_LE(std::abs(a - e), ulps * 1.2e-7 * std::max(std::abs(e), floor))
        << i << ": " << a << ", expected " << e;
  }
}

Tensor numbers_with_specials() {
  Tensor t = random_tensor({1, 40, 50}, 3, -12, 12);
  float* p = t.mutable_data<float>();
  const float special[] = {0.f,   -0.f,   NAN,    INFINITY, -INFINITY,   1e-30f,    -1e-30f,
                           100.f, -100.f, 1e-40f, 1.f,      0.99999994f, 1.0000001f};
  std::copy(std::begin(special), std::end(special), p);
  return t;
}

TEST(PointwiseTest, EveryActivationIsAccurate) {
  for (int type = 0; type < 14; ++type) {
    SCOPED_TRACE(type);
    Activation op;
    op.type = static_cast<ActivationType>(type);
    op.alpha = 0.3f;
    op.beta = 1.5f;
    LayerTest test(op, {{numbers_with_specials(), false, Layout::kLinear}});
    ASSERT_EQ(test.offer("pointwise"), "");
    expect_accurate(test.run(), test.reference(), 5, 0.3);
  }
}

TEST(PointwiseTest, EveryUnaryFunctionIsAccurate) {
  for (int type = 0; type < 25; ++type) {
    SCOPED_TRACE(type);
    Unary op;
    op.operation = static_cast<UnaryOperation>(type);
    if (op.operation == UnaryOperation::kNOT) continue;  // for booleans
    LayerTest test(op, {{numbers_with_specials(), false, Layout::kLinear}});
    if (test.offer("pointwise") != "") continue;
    expect_accurate(test.run(), test.reference(), 4, 1e-30);
  }
}

TEST(PointwiseTest, EveryArithmeticOperationOfTwoTensors) {
  for (int type = 0; type <= 7; ++type) {
    SCOPED_TRACE(type);
    ElementWise op;
    op.operation = static_cast<ElementWiseOperation>(type);
    LayerTest test(op, {data({2, 5, 600}, 1), data({2, 5, 600}, 2)});
    ASSERT_EQ(test.offer("pointwise"), "");
    expect_accurate(test.run(), test.reference(), 0, 1);
  }
}

TEST(PointwiseTest, Squares) {
  ElementWise op;
  op.operation = ElementWiseOperation::kPOW;
  TestInput two = constant({1, 1, 1});
  *two.tensor->mutable_data<float>() = 2;
  LayerTest test(op, {data({2, 5, 600}), two});
  ASSERT_EQ(test.offer("pointwise"), "");
  expect_accurate(test.run(), test.reference(), 1, 1e-30);
}

TEST(PointwiseTest, BroadcastsInEveryLayout) {
  const Shape full = {2, 19, 5, 37};
  ElementWise op;
  op.operation = ElementWiseOperation::kSUB;
  for (const Layout layout : kLayouts)
    for (const Shape& other :
         {Shape{2, 19, 5, 37}, Shape{1, 19, 1, 1}, Shape{2, 19, 1, 1}, Shape{1, 1, 1, 1},
          Shape{1, 1, 5, 37}, Shape{1, 19, 5, 37}, Shape{2, 1, 5, 1}, Shape{1, 1, 1, 37}}) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(layout), other));
      LayerTest test(op, {data(full, 1, layout), data(other, 2)});
      ASSERT_EQ(test.offer("pointwise"), "");
      EXPECT_EQ(test.kernel().output_layouts[0], layout);
      expect_accurate(test.run(), test.reference(), 0, 1);
      LayerTest reversed(op, {data(other, 2), data(full, 1, layout)});
      ASSERT_EQ(reversed.offer("pointwise"), "");
      EXPECT_EQ(reversed.kernel().output_layouts[0], other == full ? Layout::kLinear : layout);
      expect_accurate(reversed.run(), reversed.reference(), 0, 1);
    }
}

TEST(PointwiseTest, BothInputsSmallerThanTheOutput) {
  ElementWise op;
  LayerTest test(op, {data({3, 1, 700}), data({1, 5, 700}, 2)});
  ASSERT_EQ(test.offer("pointwise"), "");
  expect_accurate(test.run(), test.reference(), 0, 1);
}

TEST(PointwiseTest, PaddingChannelsBecomeZero) {
  Activation op;
  op.type = ActivationType::kSIGMOID;  // of 0 is 0.5
  LayerTest test(op, {data({2, 19, 5, 7}, 1, Layout::kBlocked16)});
  ASSERT_EQ(test.offer("pointwise"), "");
  expect_accurate(test.run(), test.reference(), 4, 0.1);  // run() looks at the padding
}

TEST(PointwiseTest, ChainsReuseRegisters) {
  Pointwise op;
  op.program.inputs = 2;
  op.program.constants = {0.5f, -1.f};
  // 40 steps, each of the last result with an input or a constant.
  for (int i = 0; i < 40; ++i)
    op.program.steps.push_back(
        {Family::kElementWise,
         static_cast<int32_t>(i % 3 ? ElementWiseOperation::kSUM : ElementWiseOperation::kPROD),
         i == 0 ? 0 : op.program.step_register(static_cast<size_t>(i) - 1), i % 4});
  for (const Layout layout : kLayouts) {
    LayerTest test(op, {data({1, 20, 9, 11}, 1, layout), data({1, 20, 1, 1}, 2)});
    ASSERT_EQ(test.offer("pointwise"), "");
    expect_accurate(test.run(), test.reference(), 8, 1);
  }
}

TEST(PointwiseTest, TooManyLiveValuesAreRefused) {
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

TEST(PointwiseTest, OtherShapesWithTheSameKernel) {
  ElementWise op;
  // At the optimum both have the output's shape; later one is broadcast.
  LayerTest test(op, {data({1, 24, 5, 5}, 1, Layout::kBlocked16), data({1, 24, 5, 5}, 2)});
  ASSERT_EQ(test.offer("pointwise"), "");
  for (const int64_t n : {1, 3, 0}) {
    test.set_inputs({data({n, 24, 7, 3}, 1), data({1, 24, 7, 3}, 2)});
    expect_accurate(test.run(), test.reference(), 0, 1);
  }
}

TEST(PointwiseTest, ScaleInEveryMode) {
  const Shape shape = {2, 19, 4, 3};
  for (const auto& [mode, weights] :
       {std::pair{ScaleMode::kUNIFORM, Shape{1}}, std::pair{ScaleMode::kCHANNEL, Shape{19}},
        std::pair{ScaleMode::kELEMENTWISE, Shape{19 * 4 * 3}}})
    for (const Layout layout : kLayouts) {
      Scale op;
      op.mode = mode;
      LayerTest test(op, {data(shape, 1, layout), constant(weights, 2), constant(weights, 3)});
      ASSERT_EQ(test.offer("pointwise"), "");
      expect_accurate(test.run(), test.reference(), 2, 1);
    }
}

TEST(PointwiseTest, IntegersAreLeftToTheReference) {
  ElementWise op;
  LayerTest test(op, {{Tensor(DataType::kINT32, {3}), false, Layout::kLinear},
                      {Tensor(DataType::kINT32, {3}), false, Layout::kLinear}});
  EXPECT_EQ(test.offer("pointwise"), "only float32 is supported");
}

}  // namespace
}  // namespace tenon::cpu
