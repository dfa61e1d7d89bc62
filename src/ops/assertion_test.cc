#include "ops/assertion.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(Assertion, FailsWithItsMessage) {
  Assertion op;
  op.message = "the batch is even";
  const Given holds = input(make<bool>({2}, {true, true}));
  EXPECT_TRUE(run(op, {holds}).empty());
  EXPECT_EQ(infer_error(op, {constant(make<bool>({2}, {true, false}))}),
            "layer layer (Assertion): assertion failed: the batch is even");
  const Given fails = input(make<bool>({2, 2}, {true, true, true, false}));
  EXPECT_EQ(infer_error(op, {fails}), "");
  EXPECT_THROW(run(op, {fails}), Error);
  // More elements than a shape rule looks at.
  Tensor many(DataType::kBOOL, {5000});
  std::fill_n(many.mutable_data<bool>(), 5000, true);
  EXPECT_TRUE(run(op, {input(many)}).empty());
  Tensor one_fails(DataType::kBOOL, {5000});
  std::fill_n(one_fails.mutable_data<bool>(), 5000, true);
  one_fails.mutable_data<bool>()[4999] = false;
  EXPECT_THROW(run(op, {input(one_fails)}), Error);
  EXPECT_THAT(infer_error(op, {input(make<float>({}, {1}))}),
              HasSubstr("expected a bool condition, found float32"));
}

}  // namespace
}  // namespace tenon
