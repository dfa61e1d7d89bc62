// Element-wise layers of floats against the reference, on the target that is tested.
#include "ops/pointwise.h"

#include "backend/accuracy_testing.h"
#include "ops/activation.h"
#include "ops/elementwise.h"
#include "ops/scale.h"
#include "ops/support/private_operation.h"
#include "ops/unary.h"

namespace tenon {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::ScaleMode;
using nvinfer1::UnaryOperation;

TEST(PointwiseTest, EveryActivationIsAccurate) {
  for (int function = 0; function < 14; ++function)
    for (const DataType type : tested().floats) {
      SCOPED_TRACE(fmt::format("{} {}", function, name_of(type)));
      Activation op;
      op.type = static_cast<ActivationType>(function);
      op.alpha = 0.3f;
      op.beta = 1.5f;
      expect_program(op, {as_type(type, {numbers_with_specials()})}, 5, 0.3);
    }
}

TEST(PointwiseTest, EveryUnaryFunctionIsAccurate) {
  for (int function = 0; function <= static_cast<int>(UnaryOperation::kROUND); ++function) {
    SCOPED_TRACE(function);
    Unary op;
    op.operation = static_cast<UnaryOperation>(function);
    if (op.operation == UnaryOperation::kNOT) continue;  // for booleans
    expect_program(op, {{numbers_with_specials()}}, 4, 1e-30);
  }
}

// Also where the quotient has more digits than a float.
TEST(PointwiseTest, RemaindersAreExact) {
  ElementWise op;
  op.operation = operation_of(PrivateOperation::kRemainder);
  const std::vector<float> dividends = {1e10f, 1e7f, -1e20f, 16777216, -1e9f, 3e38f, 5, -7.5f};
  const std::vector<float> divisors = {3, 0.3f, 7, 7, -11, 1e-30f, INFINITY, 2};
  std::vector<float> remainders;
  for (size_t i = 0; i < dividends.size(); ++i)
    remainders.push_back(std::fmod(dividends[i], divisors[i]));
  const auto operand = [](const std::vector<float>& values) -> TestInput {
    return {Tensor::of<float>(DataType::kFLOAT, {8}, values), false, Layout::kLinear};
  };
  LayerTest test(op, {operand(dividends), operand(divisors)});
  ASSERT_EQ(test.offer("pointwise"), "");
  expect_identical(test.run(), Tensor::of<float>(DataType::kFLOAT, {8}, remainders));
}

TEST(PointwiseTest, BroadcastsInEveryLayout) {
  ElementWise op;
  op.operation = ElementWiseOperation::kSUB;
  for (const DataType type : tested().floats)
    for (const Layout layout : tested().layouts)
      for (const Shape& full : {Shape{2, 19, 5, 37}, Shape{2, 24, 5, 7}})
        for (const unsigned broadcast :
             {0u, 0b1101u, 0b1100u, 0b1111u, 0b0011u, 0b0001u, 0b1010u, 0b0111u}) {
          Shape other = full;
          for (int axis = 0; axis < 4; ++axis)
            if ((broadcast >> (3 - axis) & 1) != 0) other[axis] = 1;
          SCOPED_TRACE(fmt::format("{} {} {}", name_of(type), name_of(layout), other));
          const TestInput large = as_type(type, data(full, 1, layout));
          const TestInput small = as_type(type, data(other, 2));
          LayerTest test(op, {large, small});
          ASSERT_EQ(test.offer("pointwise"), "");
          EXPECT_EQ(test.kernel().output_layouts[0], layout);
          expect_accurate(test.run(), test.reference(), 0, 1);
          LayerTest reversed(op, {small, large});
          ASSERT_EQ(reversed.offer("pointwise"), "");
          EXPECT_EQ(reversed.kernel().output_layouts[0], other == full ? Layout::kLinear : layout);
          expect_accurate(reversed.run(), reversed.reference(), 0, 1);
        }
}

TEST(PointwiseTest, EveryRank) {
  Shape all, some;
  for (int rank = 0; rank <= Shape::kMaxRank; ++rank) {
    SCOPED_TRACE(rank);
    expect_program(ElementWise(), {data(all, 1), data(some, 2)}, 0, 1);
    if (rank == Shape::kMaxRank) break;
    all.push_back(2 + rank % 2);
    some.push_back(rank % 2 == 0 ? 1 : 2 + rank % 2);
  }
}

TEST(PointwiseTest, BothInputsSmallerThanTheOutput) {
  expect_program(ElementWise(), {data({3, 1, 700}), data({1, 5, 700}, 2)}, 0, 1);
  expect_program(ElementWise(), {data({3, 1}), data({1, 5}, 2)}, 0, 1);
}

TEST(PointwiseTest, ChainsOfManySteps) {
  Pointwise op;
  op.program.inputs = 2;
  op.program.constants = {0.5f, -1.f};
  // Each step takes the last result with an input or a constant.
  for (int i = 0; i < 40; ++i)
    op.program.steps.push_back(
        {PointwiseStep::Family::kElementWise,
         static_cast<int32_t>(i % 3 ? ElementWiseOperation::kSUM : ElementWiseOperation::kPROD),
         i == 0 ? 0 : op.program.step_register(static_cast<size_t>(i) - 1), i % 4});
  for (const Layout layout : tested().layouts)
    expect_program(op, {data({1, 20, 9, 11}, 1, layout), data({1, 20, 1, 1}, 2)}, 8, 1);
}

TEST(PointwiseTest, OtherShapesWithTheSameKernel) {
  for (const Layout layout : tested().layouts) {
    // At the optimum both have the output's shape; later one is broadcast, or vectors do not fit.
    LayerTest test(ElementWise(), {data({1, 24, 5, 5}, 1, layout), data({1, 24, 5, 5}, 2)});
    ASSERT_EQ(test.offer("pointwise"), "");
    for (const Shape& shape :
         {Shape{1, 24, 7, 3}, Shape{3, 24, 7, 3}, Shape{2, 5, 3, 3}, Shape{0, 24, 7, 3}}) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(layout), shape));
      test.set_inputs({data(shape, 1), data({1, shape[1], shape[2], shape[3]}, 2)});
      expect_accurate(test.run(), test.reference(), 0, 1);
    }
  }
}

TEST(PointwiseTest, ScaleInEveryMode) {
  const Shape shape = {2, 19, 4, 3};
  for (const auto& [mode, weights] :
       {std::pair{ScaleMode::kUNIFORM, Shape{1}}, std::pair{ScaleMode::kCHANNEL, Shape{19}},
        std::pair{ScaleMode::kELEMENTWISE, Shape{19 * 4 * 3}}})
    for (const Layout layout : tested().layouts) {
      Scale op;
      op.mode = mode;
      expect_program(op, {data(shape, 1, layout), constant(weights, 2), constant(weights, 3)}, 2,
                     1);
      expect_program(op, {data(shape, 1, layout), absent(), constant(weights, 3)}, 2, 1);
    }
}

}  // namespace
}  // namespace tenon
