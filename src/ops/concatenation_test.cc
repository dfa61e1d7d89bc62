#include "ops/concatenation.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Concatenation, AgreesWithOnnx) {
  run_cases("concatenation");
}

TEST(Concatenation, MistakesAreNamed) {
  using ::testing::HasSubstr;
  const Given row = input(make<float>({1, 2}, {1, 2})), column = input(make<float>({2, 1}, {1, 2}));
  EXPECT_THAT(infer_error(Concatenation(), {row, column}),
              HasSubstr("agree except along axis 0, found 1x2 and 2x1 (input 1)"));
  Concatenation op;
  op.axis = 2;
  EXPECT_THAT(infer_error(op, {row}), HasSubstr("axis is 2"));
}

}  // namespace
}  // namespace tenon
