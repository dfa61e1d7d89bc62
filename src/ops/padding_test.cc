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

}  // namespace
}  // namespace tenon
