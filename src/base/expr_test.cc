#include "base/expr.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tenon {
namespace {

TEST(Expr, EqualExpressionsAreOneObject) {
  ExprPool pool;
  const Dim n = pool.symbol(0);
  EXPECT_EQ(pool.add(n, pool.constant(1)), pool.add(pool.constant(1), n));
  EXPECT_EQ(pool.add(pool.add(n, pool.constant(1)), pool.constant(2)),
            pool.add(n, pool.constant(3)));
  EXPECT_EQ(pool.sub(pool.add(n, pool.constant(2)), pool.constant(2)), n);
  EXPECT_EQ(pool.mul(n, pool.constant(1)), n);
  EXPECT_EQ(pool.floor_div(pool.mul(n, pool.constant(6)), pool.constant(6)), n);
  EXPECT_EQ(pool.max(n, n), n);
  EXPECT_NE(n, pool.symbol(1));
}

TEST(Expr, ConstantsFold) {
  ExprPool pool;
  EXPECT_EQ(pool.mul(pool.constant(6), pool.constant(7)), pool.constant(42));
  EXPECT_EQ(text_of(pool.make(ExprOp::kLess, pool.constant(1), pool.constant(2))), "1");
}

// Python's // and %, C++'s / and %.
TEST(Expr, DivisionRoundsAsItsNameSays) {
  const auto divide = [](ExprOp op, int64_t a, int64_t b) {
    return apply(op, Number::of(a), Number::of(b)).integer;
  };
  EXPECT_EQ(divide(ExprOp::kFloorDiv, -7, 2), -4);
  EXPECT_EQ(divide(ExprOp::kFloorDiv, 7, -2), -4);
  EXPECT_EQ(divide(ExprOp::kCeilDiv, 7, 2), 4);
  EXPECT_EQ(divide(ExprOp::kCeilDiv, -7, 2), -3);
  EXPECT_EQ(divide(ExprOp::kTruncDiv, -7, 2), -3);
  EXPECT_EQ(divide(ExprOp::kFloorMod, -7, 3), 2);
  EXPECT_EQ(divide(ExprOp::kTruncMod, -7, 3), -1);
}

TEST(Expr, OverflowAndDivisionByZeroAreErrors) {
  const Number big = Number::of(INT64_MAX), one = Number::of(1);
  EXPECT_THROW(apply(ExprOp::kAdd, big, one), Error);
  EXPECT_THROW(apply(ExprOp::kMul, big, Number::of(2)), Error);
  EXPECT_THROW(apply(ExprOp::kTruncDiv, Number::of(INT64_MIN), Number::of(-1)), Error);
  EXPECT_THROW(apply(ExprOp::kFloorDiv, one, Number::of(0)), Error);
  EXPECT_THROW(apply(ExprOp::kPow, Number::of(10), Number::of(19)), Error);
  EXPECT_THROW(apply(ExprOp::kTruncate, Number::of_float(1e19)), Error);
}

// 10 * float32(0.7) is 7 in float32, but less than 7 in double.
TEST(Expr, RealsRoundLikeFloat32Kernels) {
  const Number product =
      apply(ExprOp::kMul, Number::of_float(10), Number::of_float(static_cast<double>(0.7f)));
  EXPECT_EQ(apply(ExprOp::kFloor, product).real, 7);
  EXPECT_EQ(apply(ExprOp::kRoundEven, Number::of_float(2.5)).real, 2);
}

TEST(ShapeProgram, EvaluatesEachExpressionOnce) {
  ExprPool pool;
  const Dim h = pool.symbol(1);
  const Dim half = pool.ceil_div(h, pool.constant(2));
  const Dim area = pool.mul(half, half);
  ShapeProgram program;
  const int32_t slot = program.add(area);
  EXPECT_EQ(program.add(area), slot);
  EXPECT_EQ(program.symbol_count, 2);
  EXPECT_EQ(program.instructions.size(), 4u);  // h, 2, half, area
  const SymbolValue symbols[] = {9, 5};
  EXPECT_EQ(program.evaluate(symbols)[static_cast<size_t>(slot)], Number::of(9));
}

TEST(ShapeProgram, EveryNumberIsKnownAndWhatDependsOnNoneIsNot) {
  ExprPool pool;
  ShapeProgram program;
  const auto lowest = static_cast<size_t>(program.add(pool.symbol(0)));
  const auto sum = static_cast<size_t>(program.add(pool.add(pool.symbol(1), pool.constant(1))));
  const SymbolValue symbols[] = {INT64_MIN, std::nullopt};
  const auto values = program.evaluate(symbols);
  EXPECT_EQ(values[lowest], Number::of(INT64_MIN));
  EXPECT_FALSE(values[sum].is_known);
}

TEST(ShapeProgram, SubtractsTheLowestNumber) {
  ExprPool pool;
  ShapeProgram program;
  const auto slot =
      static_cast<size_t>(program.add(pool.sub(pool.symbol(0), pool.constant(INT64_MIN))));
  const SymbolValue symbols[] = {INT64_MIN + 5};
  EXPECT_EQ(program.evaluate(symbols)[slot], Number::of(5));
}

TEST(ShapeProgram, DeepChainsNeedNoStack) {
  ExprPool pool;
  Dim d = pool.symbol(0);
  for (int i = 0; i < 200000; ++i) d = pool.make(ExprOp::kNeg, pool.add(d, pool.constant(1)));
  ShapeProgram program;
  const int32_t slot = program.add(d);
  const SymbolValue symbols[] = {5};
  EXPECT_EQ(program.evaluate(symbols)[static_cast<size_t>(slot)], Number::of(5));
}

TEST(Expr, TextUsesNames) {
  ExprPool pool;
  const std::string names[] = {"batch"};
  EXPECT_EQ(text_of(pool.add(pool.symbol(0), pool.constant(1)), names), "(batch + 1)");
  EXPECT_EQ(text_of(pool.max(pool.symbol(1), pool.constant(2)), names), "max(s1, 2)");
}

TEST(Expr, TextIsShortHoweverLargeTheExpression) {
  ExprPool pool;
  Dim shared = pool.symbol(0), deep = pool.symbol(0);
  for (int i = 0; i < 100'000; ++i) {
    shared = pool.mul(shared, shared);  // 2^100'000 factors
    deep = pool.max(pool.constant(i), pool.floor_div(deep, pool.constant(2)));
  }
  EXPECT_LT(text_of(shared).size(), 10'000u);
  EXPECT_LT(text_of(deep).size(), 10'000u);
}

// And not in float64.
TEST(Expr, Float64IsNotRounded) {
  ExprPool pool;
  const Dim product = pool.float64(ExprOp::kMul, pool.float64(ExprOp::kToFloat, pool.constant(10)),
                                   pool.constant_float64(0.7));
  EXPECT_EQ(pool.float64(ExprOp::kTruncate, product), pool.constant(7));
  const Dim n = pool.symbol(0);
  const Dim tenths =
      pool.float64(ExprOp::kMul, pool.float64(ExprOp::kToFloat, n), pool.constant_float64(0.1));
  ShapeProgram program;
  const int32_t whole = program.add(pool.float64(ExprOp::kTruncate, tenths));
  const int32_t real = program.add(pool.make(ExprOp::kFromFloat64, tenths));
  const SymbolValue symbols[] = {(int64_t{1} << 53) + 1};
  const auto values = program.evaluate(symbols);
  EXPECT_EQ(values[static_cast<size_t>(whole)], Number::of(900719925474099));
  EXPECT_EQ(values[static_cast<size_t>(real)],
            Number::of_float(static_cast<double>(900719925474099.2F)));
}

}  // namespace
}  // namespace tenon
