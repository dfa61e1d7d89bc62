#include "ops/pooling.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Pooling, AgreesWithOnnx) {
  run_cases("pooling");
}

TEST(Pooling, MistakesAreNamed) {
  Pooling op;
  op.window = {3, 3};
  op.stride = {1, 1};
  op.pre_padding = op.post_padding = {0, 0};
  const Given x = input(make<float>({1, 1, 2, 2}, {1, 2, 3, 4}));
  EXPECT_THAT(infer_error(op, {x}), ::testing::HasSubstr("reaches over 3 elements"));
  op.stride = {1};
  EXPECT_THAT(infer_error(op, {x}), ::testing::HasSubstr("expected 2 entries in the stride"));
}

TEST(Pooling, PlacesAndAveragesOverAllTapsAgreeWithOnnxRuntime) {
  run_cases("pooling_indices");
}

}  // namespace
}  // namespace tenon
