#include "ops/reduce.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Reduce, AgreesWithOnnx) {
  run_cases("reduce");
}

TEST(Reduce, MistakesAreNamed) {
  Reduce op;
  op.axes = 2;
  EXPECT_THAT(infer_error(op, {input(make<float>({2}, {1, 2}))}),
              ::testing::HasSubstr("within the rank of the input, 1, found mask 0x2"));
}

TEST(Reduce, IntegerAverageTruncates) {
  Reduce op;
  op.operation = nvinfer1::ReduceOperation::kAVG;
  op.axes = 1;
  EXPECT_THAT(run(op, {input(make<int32_t>({3}, {-1, -2, -2}))})[0].integers(),
              ::testing::ElementsAre(-1));
}

}  // namespace
}  // namespace tenon
