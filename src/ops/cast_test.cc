#include "ops/cast.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Cast, AgreesWithOnnx) {
  run_cases("cast");
}

TEST(Cast, NarrowTypesAreRefusedByName) {
  Cast op;
  op.to = DataType::kINT4;
  EXPECT_THAT(infer_error(op, {input(make<float>({1}, {1}))}),
              ::testing::HasSubstr("from float32 to int4 is not supported yet"));
}

// bfloat16 keeps 8 significant bits, ties to even.
TEST(Cast, BFloat16) {
  Cast to, back;
  to.to = DataType::kBF16;
  const auto narrow = run(to, {input(make<float>({3}, {1.00390625f, 1.01171875f, -3}))});
  EXPECT_THAT(run(back, {input(narrow[0])})[0].numbers(), ::testing::ElementsAre(1, 1.015625, -3));
}

}  // namespace
}  // namespace tenon
