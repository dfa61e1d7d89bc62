#include "ops/einsum.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(Einsum, AgreesWithNumpy) {
  run_cases("einsum");
}

TEST(Einsum, RefusesEquationsThatDoNotFit) {
  const auto error = [](const std::string& equation, const Shape& a, const Shape& b) {
    Einsum op;
    op.equation = equation;
    return infer_error(op,
                       {input(Tensor(DataType::kFLOAT, a)), input(Tensor(DataType::kFLOAT, b))});
  };
  EXPECT_EQ(error("ij,jk->ik", {2, 3}, {3, 4}), "");
  EXPECT_THAT(error("ij,jk->ik", {2, 3}, {4, 4}), HasSubstr("the extent is 4, and 3 elsewhere"));
  EXPECT_THAT(error("ij->ij", {2, 3}, {3, 4}), HasSubstr("has 1 operands; 2 are given"));
  EXPECT_THAT(error("ijk,jk->ik", {2, 3}, {3, 4}),
              HasSubstr("'ijk' does not fit an operand of 2 dimensions"));
  EXPECT_THAT(error("ij,jk->iik", {2, 3}, {3, 4}), HasSubstr("names an axis twice"));
  EXPECT_THAT(error("ij,jk->il", {2, 3}, {3, 4}), HasSubstr("names an axis that no operand has"));
  EXPECT_THAT(error("i1,jk->ik", {2, 3}, {3, 4}), HasSubstr("holds a '1'"));
  EXPECT_THAT(error("...ijk,jk->ik", {2, 3}, {3, 4}), HasSubstr("does not fit"));
}

}  // namespace
}  // namespace tenon
