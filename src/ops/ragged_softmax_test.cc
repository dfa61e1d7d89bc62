#include "ops/ragged_softmax.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(RaggedSoftmax, AgreesWithNumpy) {
  run_cases("ragged_softmax");
}

TEST(RaggedSoftmax, LengthsAreChecked) {
  const Given x = input(make<float>({1, 2}, {1, 2}));
  EXPECT_THAT(infer_error(RaggedSoftmax(), {x, input(make<int32_t>({1}, {1}))}),
              HasSubstr("expected one length for each row"));
  for (const int32_t length : {-1, 3})
    EXPECT_THROW(run(RaggedSoftmax(), {x, input(make<int32_t>({1, 1}, {length}))}), Error);
}

}  // namespace
}  // namespace tenon
