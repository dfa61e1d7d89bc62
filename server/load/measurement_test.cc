#include "measurement.h"

#include <gtest/gtest.h>

namespace tenon::load {
namespace {

Record record(double intended, double sent, double done, Outcome outcome = Outcome::kAnswered) {
  return {intended, sent, done, outcome};
}

TEST(Measurement, CountsEachOutcomeAndTakesLatenciesOfAnswers) {
  const std::vector<Record> records = {
      record(0, 0, 1),
      record(0, 0, 3),
      record(1, 1, 1.5, Outcome::kRefused),
      record(1, 1, 9, Outcome::kExpired),
      record(2, 2, 2.5, Outcome::kFailed),
  };
  const Measurement all = measure(records, {0, 10}, Loop::kClosed, {50, 100});
  EXPECT_EQ(all.answered, 2U);
  EXPECT_EQ(all.refused, 1U);
  EXPECT_EQ(all.expired, 1U);
  EXPECT_EQ(all.failed, 1U);
  EXPECT_DOUBLE_EQ(all.requests_per_second, 0.2);
  EXPECT_DOUBLE_EQ(all.latency.mean, 2);
  EXPECT_DOUBLE_EQ(all.latency.min, 1);
  EXPECT_DOUBLE_EQ(all.latency.max, 3);
  using Percentiles = std::vector<std::pair<double, double>>;
  EXPECT_EQ(all.latency.percentiles, (Percentiles{{50, 1}, {100, 3}}));
}

// A hundred requests of a millisecond each, one every ten milliseconds. The server stops between
// 0.2 and 0.7, and the generator can only send when it is back: so its own clock sees
// milliseconds, and whoever asked waited for half a second.
TEST(Measurement, AnOpenLoopCountsFromWhenARequestShouldHaveBeenSent) {
  std::vector<Record> records;
  for (int i = 0; i < 100; ++i) {
    const double intended = i * 0.01;
    const double sent = intended > 0.2 && intended < 0.7 ? 0.7 : intended;
    records.push_back(record(intended, sent, sent + 0.001));
  }
  const Measurement made = measure(records, {0, 2}, Loop::kOpen, {50, 99});
  EXPECT_NEAR(made.latency.percentiles[0].second, 0.001, 1e-9);
  EXPECT_NEAR(made.latency.percentiles[1].second, 0.481, 1e-9);
  EXPECT_NEAR(made.delay, 0.48, 1e-9);
}

TEST(Measurement, AWindowHasWhatEndsInItOrShouldHaveBegunInIt) {
  const std::vector<Record> records = {record(0.5, 0.5, 1.5), record(1.5, 1.5, 2.5)};
  const Measurement closed = measure(records, {0, 2}, Loop::kClosed, {});
  EXPECT_EQ(closed.answered, 1U);
  EXPECT_DOUBLE_EQ(closed.requests_per_second, 0.5);
  const Measurement open = measure(records, {0, 2}, Loop::kOpen, {});
  EXPECT_EQ(open.answered, 2U);
  EXPECT_DOUBLE_EQ(open.requests_per_second, 0.5);
  EXPECT_EQ(measure({}, {0, 1}, Loop::kOpen, {50}).answered, 0U);
}

TEST(Measurement, PercentilesAreByTheNearestRank) {
  std::vector<Record> records;
  for (int i = 200; i > 0; --i) records.push_back(record(0, 0, i));
  const auto found = measure(records, {0, 1000}, Loop::kClosed, {0, 50, 99, 99.9, 100}).latency;
  const double expected[] = {1, 100, 198, 200, 200};
  for (size_t i = 0; i < 5; ++i) EXPECT_DOUBLE_EQ(found.percentiles[i].second, expected[i]);
}

TEST(Measurement, IsStableWhereThreeWindowsAgree) {
  const auto window = [](double rate, double latency) {
    Measurement made;
    made.answered = 10;
    made.requests_per_second = rate;
    made.latency.mean = latency;
    return made;
  };
  EXPECT_TRUE(is_stable({window(100, 1), window(108, 1), window(95, 1.05)}, 0.1));
  EXPECT_FALSE(is_stable({window(100, 1), window(130, 1), window(95, 1)}, 0.1));
  EXPECT_FALSE(is_stable({window(100, 1), window(100, 1.4), window(100, 1)}, 0.1));
  Measurement empty;
  EXPECT_FALSE(is_stable({empty, empty, empty}, 0.1));
}

}  // namespace
}  // namespace tenon::load
