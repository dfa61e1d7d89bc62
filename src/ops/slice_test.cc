#include "ops/slice.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Slice, AgreesWithOnnx) {
  run_cases("slice");
}

TEST(Slice, MistakesAreNamed) {
  using ::testing::HasSubstr;
  const Given x = input(make<float>({4}, {1, 2, 3, 4}));
  Slice op;
  op.start = {2};
  op.size = {3};
  op.stride = {1};
  EXPECT_THAT(infer_error(op, {x}), HasSubstr("axis 0: expected samples within [0, 4)"));
  op.size = {-1};
  EXPECT_THAT(infer_error(op, {x}), HasSubstr("size of at least 0, found -1"));
  op.size = {1, 1};
  EXPECT_THAT(infer_error(op, {x}), HasSubstr("expected 1 entries in the size, found 2"));
  op.size = {2};
  op.axes = {1};
  EXPECT_THAT(infer_error(op, {x}), HasSubstr("axis is 1"));
}

// Where the start is data, bounds can be checked only when the layer runs.
TEST(Slice, TheKernelChecksBounds) {
  Slice op;
  op.size = {2};
  op.stride = {1};
  const Given x = input(make<float>({4}, {1, 2, 3, 4}));
  const auto from = [&](int64_t start) {
    return run(op, {x, input(make<int64_t>({1}, {start}))})[0].numbers();
  };
  EXPECT_THAT(from(2), ::testing::ElementsAre(3, 4));
  EXPECT_THROW(from(3), Error);
  EXPECT_THROW(from(-1), Error);
  EXPECT_THROW(from(INT64_MAX), Error);
}

}  // namespace
}  // namespace tenon
