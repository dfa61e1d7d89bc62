#include "ops/reverse_sequence.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(ReverseSequence, AgreesWithOnnx) {
  run_cases("reverse_sequence");
}

TEST(ReverseSequence, LengthsMustFit) {
  const Given x = input(make<float>({2, 1}, {1, 2}));
  EXPECT_THAT(infer_error(ReverseSequence(), {x, input(make<int64_t>({2}, {1, 1}))}),
              HasSubstr("expected 1 elements in the lengths"));
  try {
    run(ReverseSequence(), {x, input(make<int64_t>({1}, {3}))});
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("expected lengths from 0 to the extent of axis 0, 2, found 3"));
  }
}

}  // namespace
}  // namespace tenon
