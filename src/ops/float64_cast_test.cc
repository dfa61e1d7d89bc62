#include "ops/float64_cast.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "ops/float64_testing.h"
#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Limits = std::numeric_limits<double>;

Given float64_input(const std::vector<double>& values) {
  return input(float64_tensor(Shape{static_cast<int64_t>(values.size())}, values));
}

std::vector<double> from_float64(DataType to, const std::vector<double>& values) {
  FromFloat64 op;
  op.to = to;
  return run(op, {float64_input(values)}).at(0).numbers();
}

TEST(ToFloat64, HoldsWhatTheTypeHolds) {
  const Tensor integers = make<int64_t>({2}, {(int64_t{1} << 53) - 1, -7});
  EXPECT_THAT(float64_numbers(run(ToFloat64(), {input(integers)}).at(0)),
              ElementsAre(9007199254740991.0, -7.0));
  EXPECT_THAT(float64_numbers(run(ToFloat64(), {input(make<float>({1}, {0.1F}))}).at(0)),
              ElementsAre(0.100000001490116119384765625));
  EXPECT_THAT(float64_numbers(run(ToFloat64(), {input(make<bool>({2}, {true, false}))}).at(0)),
              ElementsAre(1, 0));
}

// As Cast of float32.
TEST(FromFloat64, IntegersAreTruncatedAndSaturate) {
  const std::vector<double> values{-2.9, 2.9, Limits::quiet_NaN(), 1e300, -1e300};
  EXPECT_THAT(from_float64(DataType::kINT32, values),
              ElementsAre(-2, 2, 0, 2147483647.0, -2147483648.0));
  EXPECT_THAT(from_float64(DataType::kUINT8, values), ElementsAre(0, 2, 0, 255, 0));
  EXPECT_THAT(from_float64(DataType::kBOOL, {0.0, -0.0, 1e-300}), ElementsAre(0, 0, 1));
  EXPECT_THAT(from_float64(DataType::kINT64, {9007199254740993.0, 16777217.0}),
              ElementsAre(9007199254740992.0, 16777217.0));
  EXPECT_THAT(from_float64(DataType::kFLOAT, {16777217.0, 0.1}),
              ElementsAre(16777216.0, static_cast<double>(0.1F)));
}

TEST(Float64Order, OrdersAsTheNumbers) {
  const std::vector<double> rising{
      -Limits::infinity(), -1e300, -1, -1e-310, 0, 1e-310, 1, 1 + 1e-15, Limits::infinity()};
  Float64Order op;
  const auto keys = run(op, {float64_input(rising)}).at(0).integers();
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end(), std::less_equal<>()));
  EXPECT_EQ(run(op, {float64_input({-0.0})}).at(0).integers(),
            run(op, {float64_input({0.0})}).at(0).integers());
  for (bool is_min : {false, true}) {
    op.nan_is_least = is_min;
    const int64_t nan = run(op, {float64_input({-Limits::quiet_NaN()})}).at(0).integers()[0];
    EXPECT_EQ(nan < keys.front(), is_min);
    EXPECT_EQ(nan > keys.back(), !is_min);
  }
}

TEST(FromFloat64, TakesBitsInInt64Only) {
  EXPECT_THAT(infer_error(FromFloat64(), {input(make<float>({1}, {1}))}),
              HasSubstr("expected bits of float64 in int64, found float32"));
}

}  // namespace
}  // namespace tenon
