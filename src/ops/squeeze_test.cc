#include "ops/squeeze.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(Squeeze, AgreesWithNumpy) {
  run_cases("squeeze");
}

TEST(Squeeze, AnswersForAxesThatCannotGo) {
  const Given x = input(make<float>({2, 1}, {1, 2}));
  const auto axes = [](int64_t axis) { return constant(make<int64_t>({1}, {axis})); };
  EXPECT_THAT(infer_error(Squeeze(), {x, axes(0)}),
              HasSubstr("expected extent 1 along axis 0, which is to be removed, found 2"));
  EXPECT_THAT(infer_error(Squeeze(), {x, axes(2)}), HasSubstr("axis is 2; expected -2 to 1"));
  EXPECT_THAT(infer_error(Unsqueeze(), {x, constant(make<int64_t>({2}, {1, -3}))}),
              HasSubstr("axis -3 is named twice"));
  EXPECT_THAT(infer_error(Squeeze(), {x, input(make<int64_t>({1}, {1}))}),
              HasSubstr("expected constant axes"));
}

}  // namespace
}  // namespace tenon
