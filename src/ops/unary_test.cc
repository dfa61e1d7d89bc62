#include "ops/unary.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Unary, AgreesWithOnnx) {
  run_cases("unary");
}

TEST(Unary, MistakesAreNamed) {
  using ::testing::HasSubstr;
  Unary op;
  op.operation = nvinfer1::UnaryOperation::kSQRT;
  EXPECT_THAT(infer_error(op, {input(make<int32_t>({1}, {4}))}), HasSubstr("found int32"));
  op.operation = nvinfer1::UnaryOperation::kNOT;
  EXPECT_THAT(infer_error(op, {input(make<float>({1}, {4}))}), HasSubstr("expected a bool input"));
  op.operation = static_cast<nvinfer1::UnaryOperation>(99);
  EXPECT_THAT(infer_error(op, {input(make<float>({1}, {4}))}), HasSubstr("found 99"));
}

}  // namespace
}  // namespace tenon
