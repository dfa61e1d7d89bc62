#include "ops/integer_matrix_multiply.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(IntegerMatrixMultiply, AgreesWithOnnxRuntime) {
  run_cases("integer_matrix_multiply");
}

// ONNX Runtime leaves the result unset.
TEST(IntegerMatrixMultiply, NothingToSumIsTheBias) {
  const auto y = run(IntegerMatrixMultiply(),
                     {input(make<uint8_t>({2, 0}, {})), input(make<int8_t>({0, 2}, {})),
                      std::nullopt, std::nullopt, input(make<int32_t>({2}, {5, -6}))});
  EXPECT_THAT(y[0].integers(), ::testing::ElementsAre(5, -6, 5, -6));
}

TEST(IntegerMatrixMultiply, ErrorsSayWhatIsWrong) {
  IntegerMatrixMultiply op;
  const auto a = input(make<uint8_t>({1, 2}, {1, 2}));
  EXPECT_THAT(infer_error(op, {a, input(make<int8_t>({1, 2}, {1, 2}))}),
              HasSubstr("agree in the axis summed over, found 2 (of 1x2) and 1 (of 1x2)"));
  EXPECT_THAT(infer_error(op, {a, input(make<int8_t>({2}, {1, 2}))}), HasSubstr("same rank"));
  const auto b = input(make<int8_t>({2, 1}, {1, 2}));
  EXPECT_THAT(infer_error(op, {a, b, std::nullopt, std::nullopt, std::nullopt,
                               input(make<float>({}, {1}))}),
              HasSubstr("a scale needs a result of another type than int32"));
  op.to = DataType::kINT64;
  EXPECT_THAT(infer_error(op, {a, b}), HasSubstr("the type of the result, found int64"));
}

}  // namespace
}  // namespace tenon
