#include "ops/constant.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Constant, IsItsWeightsUnderItsDimensions) {
  Constant op;
  op.dimensions = {2, 2};
  const Tensor weights = make<int64_t>({4}, {1, 2, 3, 4});
  const auto out = run(op, {constant(weights)})[0];
  EXPECT_EQ(out.shape(), (Shape{2, 2}));
  EXPECT_EQ(out.integers(), weights.integers());
  EXPECT_EQ(content(op, {weights}), weights.numbers());
  op.dimensions = {3};
  EXPECT_THAT(infer_error(op, {constant(weights)}),
              ::testing::HasSubstr("expected 3 elements in the weights (input 0), found 4"));
}

}  // namespace
}  // namespace tenon
