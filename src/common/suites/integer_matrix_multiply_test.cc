// Products of integers against the reference: every bit, over types, zero points and results.
#include "common/suites/float_types_testing.h"
#include "ops/quantized_matrix_multiply.h"

namespace tenon {
namespace {

constexpr DataType kBytes[] = {DataType::kINT8, DataType::kUINT8};

/// All values of the type, its ends often.
TestInput integer_matrix_multiply_bytes(DataType type, const Shape& shape, uint32_t seed) {
  std::mt19937 random(seed);
  Tensor t(type, shape);
  for (int64_t i = 0; i < t.count(); ++i) {
    constexpr uint8_t kEnds[] = {0, 127, 128, 255};
    const auto draw = random();
    t.mutable_data<uint8_t>()[i] =
        draw % 4 == 0 ? kEnds[draw / 4 % 4] : static_cast<uint8_t>(draw >> 8);
  }
  return {t, false, Layout::kLinear};
}

TestInput whole_numbers(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<int32_t>(random() % 20001) - 10000);
  return integers<int32_t>(DataType::kINT32, {count}, values);
}

TEST(IntegerMatrixMultiplyTest, EveryTypeAndShape) {
  struct Sizes {
    Shape a, b;
  };
  for (const DataType data_type : kBytes)
    for (const DataType weights_type : kBytes)
      for (const Sizes& s :
           {Sizes{{5, 7}, {7, 3}}, Sizes{{64, 64}, {64, 64}}, Sizes{{70, 200}, {200, 130}},
            Sizes{{2, 1, 9, 33}, {1, 3, 33, 20}}, Sizes{{4, 3, 8}, {4, 8, 5}},
            Sizes{{0, 4}, {4, 2}}, Sizes{{3, 0}, {0, 2}}}) {
        SCOPED_TRACE(
            fmt::format("{} {} by {} {}", name_of(data_type), s.a, name_of(weights_type), s.b));
        const auto a = integer_matrix_multiply_bytes(data_type, s.a, 1),
                   b = integer_matrix_multiply_bytes(weights_type, s.b, 2);
        expect_as_reference(QuantizedMatrixMultiply(), {a, b});
        expect_as_reference(QuantizedMatrixMultiply(),
                            {a, b, integer_matrix_multiply_bytes(data_type, {}, 3),
                             integer_matrix_multiply_bytes(weights_type, {s.b.back()}, 4)});
        expect_as_reference(
            QuantizedMatrixMultiply(),
            {a, b, integer_matrix_multiply_bytes(data_type, {1}, 5),
             integer_matrix_multiply_bytes(weights_type, {}, 6), whole_numbers(s.b.back(), 7)});
      }
}

TEST(IntegerMatrixMultiplyTest, EveryResult) {
  const int64_t columns = 37;
  for (const DataType to : {DataType::kFLOAT, DataType::kINT8, DataType::kUINT8})
    for (const int64_t scales : {int64_t{1}, columns}) {
      SCOPED_TRACE(fmt::format("{}, {} scales", name_of(to), scales));
      QuantizedMatrixMultiply op;
      op.to = to;
      expect_as_reference(
          op, {integer_matrix_multiply_bytes(DataType::kUINT8, {50, 90}, 1),
               integer_matrix_multiply_bytes(DataType::kINT8, {90, columns}, 2),
               integer_matrix_multiply_bytes(DataType::kUINT8, {}, 3), absent(),
               whole_numbers(columns, 4),
               TestInput{random_tensor({scales}, 5, 1e-4f, 2e-3f), false, Layout::kLinear},
               to == DataType::kFLOAT ? absent() : integer_matrix_multiply_bytes(to, {}, 6),
               data({scales}, 7)});
    }
}

}  // namespace
}  // namespace tenon
