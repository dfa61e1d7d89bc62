#include "batch_times.h"

#include <gtest/gtest.h>

namespace tenon::serve {
namespace {

using std::chrono::milliseconds;

// Jobs that come every `interval`.
void arrive(BatchTimes& times, milliseconds interval) {
  Clock::time_point now{};
  for (int i = 0; i < 100; ++i) times.arrived(now += interval);
}

TEST(BatchTimes, WaitsWhenALargerBatchCostsAlmostNothing) {
  BatchTimes times(8);
  times.ran(1, milliseconds(10));
  times.ran(8, milliseconds(11));
  arrive(times, milliseconds(1));
  EXPECT_GT(times.worthwhile_wait(1), milliseconds(4));  // (10 + 10 - 10.1 - 0.1) / 2
  EXPECT_LT(times.worthwhile_wait(1), milliseconds(5));
  EXPECT_GT(times.worthwhile_wait(7), milliseconds(1));
}

TEST(BatchTimes, DoesNotWaitWhenBatchesSaveNothing) {
  BatchTimes times(8);
  times.ran(1, milliseconds(10));
  times.ran(8, milliseconds(80));
  arrive(times, milliseconds(1));
  for (size_t size = 1; size < 8; ++size) EXPECT_LE(times.worthwhile_wait(size).count(), 0);
}

TEST(BatchTimes, DoesNotWaitForAJobThatIsNotExpected) {
  BatchTimes times(8);
  times.ran(1, milliseconds(10));
  times.ran(8, milliseconds(11));
  arrive(times, milliseconds(50));
  EXPECT_EQ(times.worthwhile_wait(1).count(), 0);
}

TEST(BatchTimes, DoesNotWaitBeforeItKnows) {
  BatchTimes times(8);
  arrive(times, milliseconds(1));
  EXPECT_EQ(times.worthwhile_wait(1).count(), 0);
  times.ran(1, milliseconds(10));
  EXPECT_EQ(times.worthwhile_wait(1).count(), 0);
}

TEST(BatchTimes, AsManyRunTogetherAsTakeTheLeastTimeEach) {
  BatchTimes times(8);
  times.ran(1, milliseconds(100));
  EXPECT_EQ(times.efficient_size(8), 8u);  // nothing is known of it
  times.ran(4, milliseconds(360));
  times.ran(8, milliseconds(800));
  EXPECT_EQ(times.efficient_size(8), 4u);
  EXPECT_EQ(times.efficient_size(4), 4u);
  EXPECT_EQ(times.efficient_size(1), 1u);
  times.ran(2, milliseconds(181));
  EXPECT_EQ(times.efficient_size(8), 2u);  // as fast as four, and answered sooner
  size_t others = 0;
  for (int i = 0; i < 640; ++i) others += times.efficient_size(8) == 2 ? 0 : 1;
  EXPECT_GE(others, 8u);
  EXPECT_LE(others, 10u);
}

TEST(BatchTimes, ShortBatchesAreWhole) {
  BatchTimes times(4);
  times.ran(1, std::chrono::microseconds(10));
  times.ran(4, std::chrono::microseconds(900));
  EXPECT_EQ(times.efficient_size(4), 4u);
}

TEST(BatchTimes, InterpolatesBetweenMeasuredSizes) {
  BatchTimes times(8);
  EXPECT_EQ(times.time(3).count(), 0);
  times.ran(2, milliseconds(20));
  times.ran(6, milliseconds(40));
  EXPECT_EQ(times.time(4), milliseconds(30));
  EXPECT_EQ(times.time(1), milliseconds(20));
  EXPECT_EQ(times.time(8), milliseconds(40));
}

}  // namespace
}  // namespace tenon::serve
