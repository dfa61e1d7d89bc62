#include "ops/matrix_multiply.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(MatrixMultiply, AgreesWithOnnx) {
  run_cases("matrix_multiply");
}

TEST(MatrixMultiply, MistakesAreNamed) {
  using ::testing::HasSubstr;
  const Given a = input(make<float>({1, 2}, {1, 2})), b = input(make<float>({1, 2}, {1, 2}));
  EXPECT_THAT(infer_error(MatrixMultiply(), {a, b}), HasSubstr("found 2 (of 1x2) and 1 (of 1x2)"));
  EXPECT_THAT(infer_error(MatrixMultiply(), {a, input(make<float>({2}, {1, 2}))}),
              HasSubstr("right operand of rank 2 or more, found rank 1"));
}

}  // namespace
}  // namespace tenon
