#include "ops/support/pointwise_program.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/op_test.h"

namespace tenon {
namespace {

using Family = PointwiseStep::Family;

float of(Family family, int32_t function, float a, float b = 0) {
  return evaluate({family, function, 0, 1, 0, 0}, a, b);
}

// The rest of evaluate() is tested through Unary, Activation and ElementWise.
TEST(Evaluate, LogicAndComparisonsGiveZeroOrOne) {
  EXPECT_EQ(of(Family::kElementWise, 8, 1, 2), 1);    // and
  EXPECT_EQ(of(Family::kElementWise, 10, 1, 2), 0);   // xor
  EXPECT_EQ(of(Family::kElementWise, 12, 3, 2), 1);   // greater
  EXPECT_EQ(of(Family::kUnary, 20, 0), 1);            // not
  EXPECT_EQ(of(Family::kElementWise, 7, -7, 2), -4);  // floor division
}

TEST(Evaluate, NanComesThrough) {
  for (int32_t function : {0, 3, 4, 8, 9})
    EXPECT_TRUE(std::isnan(of(Family::kActivation, function, NAN))) << function;
  EXPECT_TRUE(std::isnan(of(Family::kElementWise, 2, NAN, 1)));
  EXPECT_TRUE(std::isnan(of(Family::kElementWise, 3, 1, NAN)));
}

// Input 0 may be the output: a convolution's epilogue works in place.
TEST(RunReference, WorksInPlaceInEveryFloatType) {
  PointwiseProgram program;
  program.steps = {{Family::kUnary, 5, 0, -1, 0, 0}, {Family::kElementWise, 1, 1, 0, 0, 0}};
  Tensor x = testing::make<float>({3}, {1, -2, 3});
  const TensorView view = view_of(x);
  run_reference(program, {&view, 1}, view);
  EXPECT_THAT(x.numbers(), ::testing::ElementsAre(-1, -4, -9));
}

TEST(RunReference, WrongShapesAndTypesAreErrors) {
  PointwiseProgram program;
  program.steps = {{Family::kActivation, 0, 0, -1, 0, 0}};
  const Tensor x = testing::make<float>({2}, {1, 2});
  Tensor wrong(DataType::kFLOAT, {3}), integers(DataType::kINT32, {2});
  const TensorView view = view_of(x);
  EXPECT_THROW(run_reference(program, {&view, 1}, view_of(wrong)), Error);
  EXPECT_THROW(run_reference(program, {&view, 1}, view_of(integers)), Error);
  EXPECT_THROW(run_reference(program, {}, view_of(wrong)), Error);
}

TEST(Check, RefusesOperandsThatAreNotThere) {
  PointwiseProgram program;
  program.steps = {{Family::kActivation, 0, 0, -1, 0, 0}};
  EXPECT_NO_THROW(program.check());
  program.steps[0].b = 100'000'000;  // an activation has one operand
  EXPECT_THROW(program.check(), Error);
  program.steps[0] = {Family::kElementWise, 0, 0, 1, 0, 0};  // register 1 is its own result
  EXPECT_THROW(program.check(), Error);
}

}  // namespace
}  // namespace tenon
