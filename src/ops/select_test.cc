#include "ops/select.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Select, AgreesWithOnnx) {
  run_cases("select");
}

TEST(Select, MistakesAreNamed) {
  using ::testing::HasSubstr;
  const Given x = input(make<float>({1}, {4}));
  EXPECT_THAT(infer_error(Select(), {x, x, x}), HasSubstr("expected a bool condition"));
  EXPECT_THAT(
      infer_error(Select(), {input(make<bool>({1}, {true})), x, input(make<int32_t>({1}, {4}))}),
      HasSubstr("equal type, found float32 and int32"));
}

}  // namespace
}  // namespace tenon
