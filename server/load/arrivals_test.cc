#include "arrivals.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tenon::load {
namespace {

TEST(Arrivals, ConstantOnesKeepTheRateToTheNanosecond) {
  Arrivals arrivals(Distribution::kConstant, 30'000, 1);
  std::chrono::nanoseconds sum{0};
  for (int i = 0; i < 30'000; ++i) sum += arrivals.next();
  EXPECT_NEAR(static_cast<double>(sum.count()), 1e9, 2);
}

// Of an exponential distribution the standard deviation is the mean, and 1 / e of all waits are
// longer than it.
TEST(Arrivals, PoissonsWaitsAreExponential) {
  Arrivals arrivals(Distribution::kPoisson, 1000, 7);
  constexpr int kCount = 200'000;
  double sum = 0, squares = 0;
  int longer = 0;
  for (int i = 0; i < kCount; ++i) {
    const auto wait = static_cast<double>(arrivals.next().count()) / 1e6;
    sum += wait;
    squares += wait * wait;
    longer += wait > 1 ? 1 : 0;
  }
  const double mean = sum / kCount;
  EXPECT_NEAR(mean, 1, 0.02);
  EXPECT_NEAR(std::sqrt(squares / kCount - mean * mean), 1, 0.02);
  EXPECT_NEAR(static_cast<double>(longer) / kCount, std::exp(-1), 0.01);
}

TEST(Arrivals, AreThoseOfTheSeed) {
  Arrivals first(Distribution::kPoisson, 1000, 7), same(Distribution::kPoisson, 1000, 7),
      other(Distribution::kPoisson, 1000, 8);
  const auto wait = first.next();
  EXPECT_EQ(wait, same.next());
  EXPECT_NE(wait, other.next());
}

}  // namespace
}  // namespace tenon::load
