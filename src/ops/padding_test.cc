#include "ops/padding.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(Padding, AgreesWithNumpy) {
  run_cases("padding");
}

TEST(Padding, NothingMayBeLeft) {
  Padding op;
  op.pre = {-1, 0};
  op.post = {-2, 0};
  EXPECT_THAT(infer_error(op, {input(make<float>({2, 1}, {1, 2}))}),
              HasSubstr("axis 0 of 2x1 would have extent -1 after padding by -1 and -2"));
}

TEST(Padding, AnswersForPaddingsThatCannotBe) {
  Padding op;
  op.pre = {-(int64_t{1} << 62), 0};
  op.post = {int64_t{1} << 62, 0};
  EXPECT_THAT(infer_error(op, {input(make<float>({2, 1}, {1, 2}))}),
              HasSubstr("expected paddings of at most"));
  EXPECT_THAT(infer_error(Padding(), {input(make<float>({1}, {1}))}), HasSubstr("rank 2 or more"));
}

}  // namespace
}  // namespace tenon
