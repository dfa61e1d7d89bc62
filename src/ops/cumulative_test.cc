#include "ops/cumulative.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(Cumulative, AgreesWithOnnx) {
  run_cases("cumulative");
}

TEST(Cumulative, TheAxisMustBeThere) {
  const Given x = input(make<float>({2}, {1, 2}));
  EXPECT_THAT(infer_error(Cumulative(), {x, constant(make<int64_t>({}, {1}))}),
              HasSubstr("axis is 1; expected -1 to 0"));
  EXPECT_THROW(run(Cumulative(), {x, input(make<int64_t>({}, {-2}))}), Error);
}

}  // namespace
}  // namespace tenon
