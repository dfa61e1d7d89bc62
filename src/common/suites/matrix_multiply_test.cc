// Products of matrices against the reference, on the target that is tested.
#include "ops/matrix_multiply.h"

#include "common/suites/epilogue_testing.h"
#include "common/suites/float_types_testing.h"
#include "ops/fully_connected.h"

namespace tenon {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::MatrixOperation;
constexpr auto kNone = MatrixOperation::kNONE;
constexpr auto kTransposed = MatrixOperation::kTRANSPOSE;
constexpr auto kVector = MatrixOperation::kVECTOR;

void check_matrix_multiply(const MatrixMultiply& op, std::vector<TestInput> inputs, DataType type) {
  expect_as_reference(op, in_type(type, std::move(inputs)), tolerance_of(type));
}

struct MatrixMultiplyCase {
  Shape a, b;
  MatrixOperation operation_a = kNone, operation_b = kNone;
};

const MatrixMultiplyCase kMatrixMultiplyCases[] = {
    {{5, 7}, {7, 3}},
    {{16, 64}, {64, 32}},
    {{7, 5}, {7, 3}, kTransposed},
    {{5, 7}, {3, 7}, kNone, kTransposed},
    {{7, 5}, {3, 7}, kTransposed, kTransposed},
    {{7}, {7, 3}, kVector},
    {{5, 7}, {7}, kNone, kVector},
    {{7}, {7}, kVector, kVector},
    {{2, 3, 7}, {2, 3, 7}, kVector, kVector},
    {{4, 5, 7}, {1, 7, 3}},  // one tall matrix
    {{2, 4, 5, 7}, {1, 1, 7, 3}},
    {{4, 7, 5}, {1, 7, 3}, kTransposed},
    {{1, 5, 7}, {4, 7, 3}},
    {{2, 3, 5, 7}, {2, 3, 7, 4}},
    {{2, 3, 5, 7}, {1, 3, 7, 4}},  // several calls
    {{2, 1, 5, 7}, {1, 3, 7, 4}},
    {{2, 3, 4, 5, 7}, {2, 1, 4, 7, 6}},
    {{2, 3, 1, 5, 7}, {1, 3, 2, 7, 6}},
    {{0, 7}, {7, 3}},
    {{5, 0}, {0, 3}},  // an empty sum
    {{4, 1}, {1, 6}},
};

TEST(MatrixMultiplyTest, EqualsReference) {
  for (const DataType type : kFloatTypes)
    for (const MatrixMultiplyCase& c : kMatrixMultiplyCases) {
      SCOPED_TRACE(fmt::format("{}: {} by {}, operations {} {}", name_of(type), c.a, c.b,
                               static_cast<int>(c.operation_a), static_cast<int>(c.operation_b)));
      MatrixMultiply op;
      op.operation_a = c.operation_a;
      op.operation_b = c.operation_b;
      check_matrix_multiply(op, {data(c.a, 1), data(c.b, 2)}, type);
    }
}

TEST(MatrixMultiplyTest, LongSums) {
  for (const DataType type : kFloatTypes)
    check_matrix_multiply(MatrixMultiply(), {data({33, 3072}, 1), data({3072, 65}, 2)}, type);
}

TEST(MatrixMultiplyTest, AnyBias) {
  for (const DataType type : kFloatTypes)
    for (const Shape& bias : {Shape{3}, Shape{1, 3}, Shape{1, 1, 3}, Shape{1, 5, 1}, Shape{4, 1, 1},
                              Shape{4, 5, 3}, Shape{1}, Shape{}}) {
      SCOPED_TRACE(fmt::format("{} bias {}", name_of(type), bias));
      check_matrix_multiply(MatrixMultiply(),
                            {data({4, 5, 8}, 1), data({1, 8, 3}, 2), data(bias, 3)}, type);
    }
  MatrixMultiply with_vector;
  with_vector.operation_b = kVector;
  check_matrix_multiply(with_vector, {data({4, 5, 8}, 1), data({4, 8}, 2), data({4, 5}, 3)},
                        DataType::kFLOAT);
}

TEST(MatrixMultiplyTest, Epilogues) {
  for (const DataType type : kFloatTypes)
    for (const bool has_bias : {false, true})
      for (const bool adds : {false, true})
        for (const auto activation :
             {ActivationType::kRELU, ActivationType::kGELU_ERF, ActivationType::kGELU_TANH}) {
          SCOPED_TRACE(fmt::format("{}, bias {}, adds {}, activation {}", name_of(type), has_bias,
                                   adds, static_cast<int>(activation)));
          MatrixMultiply op;
          op.epilogue = sum_and_activation(adds, activation);
          std::vector<TestInput> inputs{data({4, 16, 40}, 1), data({1, 40, 24}, 2),
                                        has_bias ? data({1, 1, 24}, 3) : absent()};
          if (adds) inputs.push_back(data({4, 16, 24}, 4));
          check_matrix_multiply(op, inputs, type);
        }
  MatrixMultiply sum;
  sum.epilogue = sum_and_activation(true, std::nullopt);
  check_matrix_multiply(sum, {data({2, 5, 9}, 1), data({2, 9, 7}, 2), absent(), data({2, 5, 1}, 4)},
                        DataType::kFLOAT);
}

TEST(FullyConnectedTest, EqualsReference) {
  for (const DataType type : kFloatTypes)
    for (const bool has_bias : {false, true})
      for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{1, 16, 2, 2}, Shape{3, 4, 2}}) {
        FullyConnected op;
        op.outputs = 7;
        const int64_t depth = shape.volume(shape.rank() - 3, shape.rank());
        expect_as_reference(op,
                            in_type(type, {data(shape, 1), constant({7, depth}, 2),
                                           has_bias ? constant({7}, 3) : absent()}),
                            tolerance_of(type));
      }
}

}  // namespace
}  // namespace tenon
