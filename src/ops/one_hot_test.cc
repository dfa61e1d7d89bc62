#include "ops/one_hot.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(OneHot, AgreesWithOnnx) {
  run_cases("one_hot");
}

TEST(OneHot, AnswersForADepthThatCannotBe) {
  const Given index = input(make<int64_t>({1}, {0}));
  const Given values = input(make<float>({2}, {0, 1}));
  EXPECT_THAT(infer_error(OneHot(), {index, values, constant(make<int64_t>({}, {-2}))}),
              HasSubstr("expected a depth of at least 0, found -2"));
  EXPECT_THAT(infer_error(OneHot(),
                          {index, input(make<float>({1}, {0})), constant(make<int64_t>({}, {2}))}),
              HasSubstr("expected 2 elements in the values"));
}

}  // namespace
}  // namespace tenon
