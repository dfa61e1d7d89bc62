#include "ops/float64_arithmetic.h"

#include <bit>

#include "ops/float64_testing.h"
#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Family = PointwiseStep::Family;
using nvinfer1::ElementWiseOperation;

Float64Pointwise float64_step(ElementWiseOperation operation) {
  Float64Pointwise op;
  op.function = static_cast<int32_t>(operation);
  return op;
}

// The sum of 0.1 and 0.2 is not 0.3, as everyone knows of float64.
TEST(Float64Pointwise, ComputesInFloat64) {
  const Given a = input(float64_tensor({2, 1}, {0.1, 1e300})),
              b = input(float64_tensor({1, 2}, {0.2, 1}));
  EXPECT_THAT(float64_numbers(run(float64_step(ElementWiseOperation::kSUM), {a, b}).at(0)),
              ElementsAre(0.30000000000000004, 1.1, 1e300, 1e300));
  const Tensor less = run(float64_step(ElementWiseOperation::kLESS), {a, b}).at(0);
  EXPECT_EQ(less.type(), DataType::kBOOL);
  EXPECT_THAT(less.integers(), ElementsAre(1, 1, 0, 0));
}

// Sizes that follow from it are known on the host: 10 * 0.7 is 7.
TEST(Float64Pointwise, ElementsOnTheHostAreExact) {
  const auto bits = content(float64_step(ElementWiseOperation::kPROD),
                            {float64_tensor({1}, {10}), float64_tensor({1}, {0.7})});
  ASSERT_TRUE(bits);
  EXPECT_EQ(std::bit_cast<double>(static_cast<int64_t>(bits->at(0))), 7);
}

TEST(Float64Pointwise, RefusesWhatItDoesNotCompute) {
  const Given x = input(float64_tensor({1}, {1})), y = input(make<float>({1}, {1}));
  EXPECT_THAT(infer_error(float64_step(ElementWiseOperation::kAND), {x, x}),
              HasSubstr("found a logical one"));
  EXPECT_THAT(infer_error(float64_step(ElementWiseOperation::kSUM), {x, y}),
              HasSubstr("expected bits of float64 in int64, found float32"));
  EXPECT_THAT(infer_error(float64_step(static_cast<ElementWiseOperation>(77)), {x, x}),
              HasSubstr("unknown function (77)"));
}

TEST(Float64Reduce, SumsWhatFloat32WouldLose) {
  Float64Reduce op;
  op.attributes.axes = 2;
  const Given x = input(float64_tensor({2, 3}, {1e9, 0.25, -1e9, 1, 2, 6}));
  EXPECT_THAT(float64_numbers(run(op, {x}).at(0)), ElementsAre(0.25, 9));
  op.attributes.operation = nvinfer1::ReduceOperation::kAVG;
  op.attributes.keep_dimensions = true;
  const Tensor means = run(op, {x}).at(0);
  EXPECT_EQ(means.shape(), (Shape{2, 1}));
  EXPECT_THAT(float64_numbers(means), ElementsAre(0.25 / 3, 3));
}

TEST(Float64Cumulative, SumsWhatFloat32WouldLose) {
  Float64Cumulative op;
  const Given x = input(float64_tensor({3}, {1e9, 0.25, 0.5}));
  const Given axis = constant(make<int64_t>({1}, {0}));
  EXPECT_THAT(float64_numbers(run(op, {x, axis}).at(0)),
              ElementsAre(1e9, 1000000000.25, 1000000000.75));
  op.attributes.reverse = op.attributes.exclusive = true;
  EXPECT_THAT(float64_numbers(run(op, {x, axis}).at(0)), ElementsAre(0.75, 0.5, 0));
}

}  // namespace
}  // namespace tenon
