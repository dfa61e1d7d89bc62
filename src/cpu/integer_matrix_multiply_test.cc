// Our matrix product of integers against the reference: every bit.
#include "common/convolution_testing.h"
#include "cpu/convolution/integer_testing.h"
#include "cpu/kernels.h"
#include "cpu/simd/byte_product.h"
#include "ops/quantized_matrix_multiply.h"

namespace tenon::cpu {
namespace {

constexpr std::string_view kIntegerMatrixMultiplyCandidate = "integer_matrix_multiply";

TEST(IntegerMatrixMultiplyKernel, GivesEveryBit) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  const std::pair<Shape, Shape> shapes[] = {{{5, 7}, {7, 3}},          {{1, 64}, {64, 33}},
                                            {{2, 3, 70}, {1, 70, 16}}, {{2, 3, 4, 9}, {1, 1, 9, 5}},
                                            {{0, 9}, {9, 5}},          {{40, 300}, {300, 80}},
                                            {{5, 1}, {1, 3}},          {{5, 2}, {2, 3}}};
  for (const auto& [a, b] : shapes)
    for (const Types& t : all_types())
      for (const Zeros zeros : {Zeros::kNone, Zeros::kOne, Zeros::kEach}) {
        SCOPED_TRACE(fmt::format("{} {} {} {} {} {}", a, b, name_of(t.data), name_of(t.weights),
                                 name_of(t.to), static_cast<int>(zeros)));
        QuantizedMatrixMultiply op;
        op.to = t.to;
        op.bounds = bounds_for(t.to, zeros);
        expect_exact(op, operands(t, bytes(t.data, a), bytes(t.weights, b), b.back(), zeros),
                     kIntegerMatrixMultiplyCandidate, std::vector<bool>(In::kCount, true));
        if (::testing::Test::HasFailure()) return;
      }
}

TEST(IntegerMatrixMultiplyKernel, RefusesOthers) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  const Types t{DataType::kINT8, DataType::kINT8, DataType::kINT32};
  const auto refusal = [&](const Shape& a, const Shape& b, bool constant) {
    return Layer(QuantizedMatrixMultiply(),
                 operands(t, bytes(t.data, a), bytes(t.weights, b), b.back(), Zeros::kNone),
                 std::vector<bool>(In::kCount, constant))
        .offer(kIntegerMatrixMultiplyCandidate);
  };
  EXPECT_EQ(refusal({3, 4, 5}, {1, 5, 2}, true), "");
  EXPECT_EQ(refusal({3, 4, 5}, {3, 5, 2}, true), "only one matrix of weights is supported");
  EXPECT_EQ(refusal({4, 5}, {5, 2}, false), "weights that are not constant are not supported");
  EXPECT_EQ(refusal({4, 0}, {0, 2}, true), "there is nothing to sum");
}

// A damaged plan may give its tensors extents that follow an input.
TEST(IntegerMatrixMultiplyKernel, ShapesThatDoNotFitTheWeightsAreErrors) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  const Types t{DataType::kINT8, DataType::kINT8, DataType::kINT32};
  Layer layer(QuantizedMatrixMultiply(),
              operands(t, bytes(t.data, {4, 5}), bytes(t.weights, {5, 64}), 64, Zeros::kNone),
              std::vector<bool>(In::kCount, true));
  ASSERT_EQ(layer.offer(kIntegerMatrixMultiplyCandidate), "");
  const auto error_for = [&](const Shape& data, const Shape& result) {
    return error_of([&] { layer.prepare(data, result); });
  };
  EXPECT_EQ(error_for({7, 5}, {7, 64}), "");
  EXPECT_THAT(error_for({4, 5}, {4, 1}), ::testing::HasSubstr("1 output channels"));
  EXPECT_EQ(error_for({4, 5}, {3, 64}), "4 rows cannot give 3");
  EXPECT_THAT(error_for({4, 50}, {4, 64}), ::testing::HasSubstr("50 channels"));
}

TEST(IntegerMatrixMultiplyKernel, DamagedPlansAreErrors) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  const Types t{DataType::kINT8, DataType::kINT8, DataType::kINT32};
  const auto in = operands(t, bytes(t.data, {4, 5}), bytes(t.weights, {5, 2}), 2, Zeros::kNone);
  Layer layer(QuantizedMatrixMultiply(), in, std::vector<bool>(In::kCount, true));
  ASSERT_EQ(layer.offer(kIntegerMatrixMultiplyCandidate), "");
  StoredKernel stored = layer.stored();
  EXPECT_EQ(layer.offer(kIntegerMatrixMultiplyCandidate, &stored), "");
  stored.packed.pop_back();
  EXPECT_THAT(error_of([&] { layer.offer(kIntegerMatrixMultiplyCandidate, &stored); }),
              ::testing::HasSubstr("stored weights do not fit 2 output channels of 5 channels"));
}

}  // namespace
}  // namespace tenon::cpu
