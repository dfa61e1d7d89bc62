#include "ops/scale.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Scale, AgreesWithOnnx) {
  run_cases("scale");
}

TEST(Scale, MistakesAreNamed) {
  using ::testing::HasSubstr;
  Scale op;
  op.mode = nvinfer1::ScaleMode::kCHANNEL;
  const Given x = input(make<float>({1, 2}, {4, 5})), one = constant(make<float>({1}, {4}));
  EXPECT_THAT(infer_error(op, {x, one}),
              HasSubstr("expected 2 elements in the shift (input 1), found 1"));
  op.channel_axis = 2;
  EXPECT_THAT(infer_error(op, {x, one}), HasSubstr("channel axis of 0 to 1, found 2"));
}

}  // namespace
}  // namespace tenon
