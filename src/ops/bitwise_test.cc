#include "ops/bitwise.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(Bitwise, AgreesWithNumpy) {
  run_cases("bitwise");
}

TEST(Bitwise, AnswersForOtherThanIntegers) {
  const Given x = input(make<float>({1}, {1}));
  EXPECT_THAT(infer_error(Bitwise(), {x, x}), HasSubstr("expected integers"));
}

}  // namespace
}  // namespace tenon
