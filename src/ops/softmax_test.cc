#include "ops/softmax.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Softmax, AgreesWithOnnx) {
  run_cases("softmax");
}

TEST(Softmax, NeedsOneAxis) {
  Softmax op;
  op.axes = 3;
  EXPECT_THAT(infer_error(op, {input(make<float>({1, 2}, {1, 2}))}),
              ::testing::HasSubstr("exactly one of the 2 axes, found 0x3"));
}

}  // namespace
}  // namespace tenon
