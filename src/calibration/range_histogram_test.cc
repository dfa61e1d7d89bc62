#include "calibration/range_histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace tenon {
namespace {

uint64_t total(const RangeHistogram& histogram) {
  const auto counts = histogram.counts();
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

TEST(RangeHistogram, CountsAbsoluteValues) {
  std::vector<float> values;
  for (int i = 0; i < RangeHistogram::kBins; ++i) {
    const float value = (static_cast<float>(i) + 0.5f) / 256;
    values.push_back(value);
    values.push_back(-value);
  }
  values.push_back(-8);
  RangeHistogram histogram;
  ASSERT_TRUE(histogram.add(values));
  EXPECT_EQ(histogram.largest(), 8);
  EXPECT_EQ(histogram.width(), 8.0 / RangeHistogram::kBins);
  ASSERT_EQ(histogram.counts().size(), RangeHistogram::kBins);
  for (size_t i = 0; i + 1 < RangeHistogram::kBins; ++i) EXPECT_EQ(histogram.counts()[i], 2) << i;
  EXPECT_EQ(histogram.counts().back(), 3);
}

TEST(RangeHistogram, GrowsByMergingBins) {
  std::vector<float> small;
  for (int i = 0; i < RangeHistogram::kBins; ++i)
    small.push_back((static_cast<float>(i) + 0.5f) / RangeHistogram::kBins);
  small.push_back(1);
  RangeHistogram histogram;
  ASSERT_TRUE(histogram.add(small));
  ASSERT_TRUE(histogram.add(std::vector<float>{-3.0f}));
  EXPECT_EQ(histogram.largest(), 3);
  EXPECT_EQ(histogram.width(), 4.0 / RangeHistogram::kBins);
  // Of four times the range, three quarters are in use, and the bin that begins with 3.
  ASSERT_EQ(histogram.counts().size(), RangeHistogram::kBins * 3 / 4 + 1);
  EXPECT_EQ(histogram.counts()[0], 4);
  EXPECT_EQ(histogram.counts()[511], 5);
  EXPECT_EQ(histogram.counts()[512], 0);
  EXPECT_EQ(histogram.counts().back(), 1);
  EXPECT_EQ(total(histogram), small.size() + 1);
}

TEST(RangeHistogram, IsTheSameHoweverManyBatches) {
  std::vector<float> values(300000);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<float>(i)) * static_cast<float>(i % 7);
  RangeHistogram at_once, in_parts;
  ASSERT_TRUE(at_once.add(values));
  // The largest comes first, so that both have the same bins.
  std::vector<float> largest{at_once.largest()};
  ASSERT_TRUE(in_parts.add(largest));
  for (size_t i = 0; i < values.size(); i += 1000)
    ASSERT_TRUE(in_parts.add(std::span(values).subspan(i, 1000)));
  EXPECT_EQ(total(at_once), values.size());
  EXPECT_EQ(total(in_parts), values.size() + 1);
  for (size_t i = 0; i + 1 < at_once.counts().size(); ++i)
    ASSERT_EQ(at_once.counts()[i], in_parts.counts()[i]) << i;
}

TEST(RangeHistogram, OfZerosHasNoRange) {
  RangeHistogram histogram;
  ASSERT_TRUE(histogram.add(std::vector<float>{0, -0.0f, 0}));
  ASSERT_TRUE(histogram.add({}));
  EXPECT_EQ(histogram.largest(), 0);
  EXPECT_TRUE(histogram.counts().empty());
  ASSERT_TRUE(histogram.add(std::vector<float>{2}));
  EXPECT_EQ(histogram.counts().front(), 3);
  EXPECT_EQ(total(histogram), 4);
}

TEST(RangeHistogram, TakesTheSmallestAndLargestFloats) {
  RangeHistogram histogram;
  ASSERT_TRUE(histogram.add(std::vector<float>{std::numeric_limits<float>::denorm_min()}));
  EXPECT_EQ(total(histogram), 1);
  ASSERT_TRUE(histogram.add(std::vector<float>{std::numeric_limits<float>::max()}));
  EXPECT_EQ(histogram.largest(), std::numeric_limits<float>::max());
  EXPECT_EQ(total(histogram), 2);
}

TEST(RangeHistogram, RefusesNanAndInfinity) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::nanf(""),
        std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    RangeHistogram histogram;
    EXPECT_FALSE(histogram.add(std::vector<float>{1, bad, 2}));
    EXPECT_EQ(histogram.largest(), 0);
  }
}

}  // namespace
}  // namespace tenon
