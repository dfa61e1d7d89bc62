#include "ops/cast.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Cast, AgreesWithOnnx) {
  run_cases("cast");
}

// Through each low-precision type and back; an odd number of elements, so that a nibble is left
// over.
TEST(Cast, NarrowTypes) {
  using ::testing::ElementsAre;
  const auto through = [](DataType type, bool saturate) {
    Cast to, back;
    to.to = type;
    to.saturate = saturate;
    const auto narrow = run(to, {input(make<float>({5}, {0.3f, -1.2f, 7, 1000, -8.5f}))});
    return run(back, {input(narrow[0])})[0].numbers();
  };
  EXPECT_THAT(through(DataType::kFP8, true), ElementsAre(0.3125, -1.25, 7, 448, -8));
  EXPECT_THAT(through(DataType::kFP8, false)[3], ::testing::IsNan());
  EXPECT_THAT(through(DataType::kFP4, true), ElementsAre(0.5, -1, 6, 6, -6));
  EXPECT_THAT(through(DataType::kINT4, true), ElementsAre(0, -1, 7, -8, -8));
  Cast up;
  up.to = DataType::kE8M0;
  EXPECT_THAT(run(up, {input(make<int32_t>({3}, {1, 3, 4}))})[0].numbers(), ElementsAre(1, 4, 4));
  Cast integers;
  integers.to = DataType::kINT64;
  EXPECT_THAT(run(integers, {input(run(up, {input(make<int32_t>({2}, {5, 2}))})[0])})[0].integers(),
              ElementsAre(8, 2));
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
