#include "ops/quantized_matrix_multiply.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(QuantizedMatrixMultiply, AgreesWithOnnxRuntime) {
  run_cases("quantized_matrix_multiply");
}

// ONNX Runtime leaves the result unset.
TEST(QuantizedMatrixMultiply, NothingToSumIsTheBias) {
  const auto y = run(QuantizedMatrixMultiply(),
                     {input(make<uint8_t>({2, 0}, {})), input(make<int8_t>({0, 2}, {})),
                      std::nullopt, std::nullopt, input(make<int32_t>({2}, {5, -6}))});
  EXPECT_THAT(y[0].integers(), ::testing::ElementsAre(5, -6, 5, -6));
}

// Bits of e4m3: 0x38 is 1, 0x40 is 2, 0x44 is 3, 0xb0 is -0.5, 0x7e is 448. PyTorch's
// float8_e4m3fn rounds 2.2 to 2.25.
TEST(QuantizedMatrixMultiply, MultipliesFloat8) {
  QuantizedMatrixMultiply op;
  op.is_float8 = true;
  const auto float8 = [](const Shape& shape, std::initializer_list<uint8_t> bits) {
    Tensor t(DataType::kFP8, shape);
    std::copy(bits.begin(), bits.end(), t.mutable_data<uint8_t>());
    return input(t);
  };
  const auto a = float8({2, 2}, {0x38, 0x40, 0xb0, 0x7e});
  const auto b = float8({2, 2}, {0x44, 0x38, 0xb0, 0x40});
  const std::vector<std::optional<Given>> operands = {a,
                                                      b,
                                                      std::nullopt,
                                                      std::nullopt,
                                                      std::nullopt,
                                                      input(make<float>({2}, {1, 2})),
                                                      std::nullopt,
                                                      input(make<float>({2}, {0.2f, -1}))};
  op.to = DataType::kFLOAT;
  EXPECT_THAT(run(op, operands)[0].numbers(),
              ::testing::Pointwise(::testing::FloatEq(), {2.2f, 9.f, -225.3f, 1790.f}));
  op.to = DataType::kFP8;
  EXPECT_THAT(run(op, operands)[0].numbers(), ::testing::ElementsAre(2.25, 9, -224, 448));
}

TEST(QuantizedMatrixMultiply, Float8HasNoZeroPoints) {
  QuantizedMatrixMultiply op;
  op.is_float8 = true;
  op.to = DataType::kFLOAT;
  const auto float8 = input(Tensor(DataType::kFP8, {1, 1}));
  EXPECT_THAT(infer_error(op, {float8, input(make<int8_t>({1, 1}, {1}))}),
              HasSubstr("expected weights (input 1) of type float8_e4m3fn, found int8"));
  EXPECT_THAT(infer_error(op, {float8, float8, input(Tensor(DataType::kFP8, {}))}),
              HasSubstr("products of fp8 have no zero points, and no bias (input 2) of int32"));
  op.to = DataType::kINT8;
  EXPECT_THAT(infer_error(op, {float8, float8}),
              HasSubstr("expected float32, float16, bfloat16 or float8_e4m3fn as the type"));
}

TEST(QuantizedMatrixMultiply, ErrorsSayWhatIsWrong) {
  QuantizedMatrixMultiply op;
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
