#include "performance.h"

#include <gmock/gmock.h>

namespace tenon::tool {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Performance, StatisticsOfValues) {
  constexpr double kPercentiles[] = {0, 50, 90, 100};
  // Twelve values, out of order: above the percentiles p lie 12 (1 - p) of them, rounded down.
  const Statistics s = statistics({12, 1, 11, 2, 10, 3, 9, 4, 8, 5, 7, 6}, kPercentiles);
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.max, 12);
  EXPECT_DOUBLE_EQ(s.mean, 6.5);
  EXPECT_DOUBLE_EQ(s.median, 6.5);
  EXPECT_THAT(s.percentiles, ElementsAre(Pair(0, 1), Pair(50, 6), Pair(90, 11), Pair(100, 12)));
  EXPECT_EQ(statistics({3, 1, 2}, {}).median, 2);
  // The deviations are 1, so is the standard deviation: half of the mean.
  EXPECT_DOUBLE_EQ(statistics({1, 3}, {}).variation, 50);
}

TEST(Performance, OfQueriesSideBySide) {
  Measurement measurement;
  measurement.queries.resize(2);
  measurement.queries[0] = {.enqueue_start = 1,
                            .enqueue_end = 2,
                            .h2d_start = 10,
                            .compute_start = 12,
                            .d2h_start = 17,
                            .h2d = 2,
                            .compute = 5,
                            .d2h = 13};
  measurement.queries[1] = {.enqueue_start = 3,
                            .enqueue_end = 6,
                            .h2d_start = 11,
                            .compute_start = 12,
                            .d2h_start = 15,
                            .h2d = 1,
                            .compute = 3,
                            .d2h = 5};
  const Performance performance(measurement, {});
  EXPECT_DOUBLE_EQ(performance.wall_ms, 20);  // the first query ends last
  EXPECT_DOUBLE_EQ(performance.queries_per_second, 100);
  EXPECT_DOUBLE_EQ(performance.latency.max, 20);
  EXPECT_DOUBLE_EQ(performance.latency.min, 9);
  EXPECT_DOUBLE_EQ(performance.enqueue.mean, 2);
  EXPECT_DOUBLE_EQ(performance.compute.mean, 4);
}

}  // namespace
}  // namespace tenon::tool
