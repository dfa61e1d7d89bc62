// Operations of integers and booleans, and comparisons, against the reference.
#include "backend/testing.h"
#include "ops/elementwise.h"
#include "ops/unary.h"

namespace tenon::cpu {
namespace {

using Binary = nvinfer1::ElementWiseOperation;
using nvinfer1::UnaryOperation;

// Small numbers of both signs, zeros, and the ends of the type's range.
template <class T> TestInput typed_pointwise_numbers(DataType type, const Shape& shape, int seed) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::uniform_int_distribution<int> small(-9, 9);
  Tensor t(type, shape);
  for (int64_t i = 0; i < t.count(); ++i) t.mutable_data<T>()[i] = static_cast<T>(small(random));
  if (t.count() > 4 && !std::is_same_v<T, bool>) {
    t.mutable_data<T>()[1] = std::numeric_limits<T>::min();
    t.mutable_data<T>()[3] = std::numeric_limits<T>::max();
  }
  return {t, false, Layout::kLinear};
}

template <class T> void check_binary(DataType type, int from, int to) {
  for (int i = from; i <= to; ++i)
    for (const auto& [a, b] : {std::pair<Shape, Shape>{{3, 40, 5}, {3, 40, 5}},
                               {{3, 40, 5}, {1, 40, 1}},
                               {{1, 1, 1}, {3, 40, 5}},
                               {{3, 1, 5}, {3, 40, 5}},
                               {{3, 1, 1}, {1, 1, 2000}},
                               {{0, 4, 1}, {0, 4, 1}}}) {
      SCOPED_TRACE(fmt::format("{} {} {} {}", name_of(type), i, a, b));
      ElementWise op;
      op.operation = static_cast<Binary>(i);
      LayerTest test(
          op, {typed_pointwise_numbers<T>(type, a, 1), typed_pointwise_numbers<T>(type, b, 2)});
      ASSERT_EQ(test.offer("typed_pointwise"), "");
      expect_identical(test.run(), test.reference());
    }
}

constexpr int kFirst = static_cast<int>(Binary::kSUM), kAnd = static_cast<int>(Binary::kAND),
              kEqual = static_cast<int>(Binary::kEQUAL), kLast = static_cast<int>(Binary::kLESS);

TEST(TypedPointwiseTest, Arithmetic) {
  check_binary<int32_t>(DataType::kINT32, kFirst, kAnd - 1);
  check_binary<int64_t>(DataType::kINT64, kFirst, kAnd - 1);
  check_binary<int8_t>(DataType::kINT8, kFirst, kAnd - 1);
  check_binary<uint8_t>(DataType::kUINT8, kFirst, kAnd - 1);
}

TEST(TypedPointwiseTest, ComparisonsAndLogic) {
  check_binary<int32_t>(DataType::kINT32, kEqual, kLast);
  check_binary<int64_t>(DataType::kINT64, kEqual, kLast);
  check_binary<int8_t>(DataType::kINT8, kEqual, kLast);
  check_binary<uint8_t>(DataType::kUINT8, kEqual, kLast);
  check_binary<float>(DataType::kFLOAT, kEqual, kLast);
  check_binary<bool>(DataType::kBOOL, kAnd, kEqual);
}

template <class T> void check_unary(DataType type, std::initializer_list<UnaryOperation> list) {
  for (const UnaryOperation operation : list) {
    Unary op;
    op.operation = operation;
    LayerTest test(op, {typed_pointwise_numbers<T>(type, {3, 700}, 4)});
    ASSERT_EQ(test.offer("typed_pointwise"), "");
    expect_identical(test.run(), test.reference());
  }
}

TEST(TypedPointwiseTest, Unary) {
  constexpr auto kAbs = UnaryOperation::kABS, kNeg = UnaryOperation::kNEG,
                 kSign = UnaryOperation::kSIGN;
  check_unary<int32_t>(DataType::kINT32, {kAbs, kNeg, kSign});
  check_unary<int64_t>(DataType::kINT64, {kAbs, kNeg, kSign});
  check_unary<int8_t>(DataType::kINT8, {kAbs, kNeg, kSign});
  check_unary<bool>(DataType::kBOOL, {UnaryOperation::kNOT});
}

TEST(TypedPointwiseTest, WhatFloatsAre) {
  for (const auto operation : {UnaryOperation::kISNAN, UnaryOperation::kISINF}) {
    Unary op;
    op.operation = operation;
    TestInput in = data({5});
    float* x = in.tensor->mutable_data<float>();
    x[0] = NAN, x[1] = INFINITY, x[2] = -INFINITY, x[3] = 0;
    LayerTest test(op, {in});
    ASSERT_EQ(test.offer("typed_pointwise"), "");
    expect_identical(test.run(), test.reference());
  }
}

}  // namespace
}  // namespace tenon::cpu
