#include "ops/determinant.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(Determinant, AgreesWithNumpy) {
  run_cases("determinant");
}

TEST(Determinant, OnlySquareMatricesHaveOne) {
  EXPECT_THAT(infer_error(Determinant(), {input(make<float>({1, 2}, {1, 2}))}),
              HasSubstr("expected square matrices, found 1x2"));
  EXPECT_THAT(infer_error(Determinant(), {input(make<float>({1}, {1}))}),
              HasSubstr("at least 2 dimensions"));
}

}  // namespace
}  // namespace tenon
