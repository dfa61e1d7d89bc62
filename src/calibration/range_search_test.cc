#include "calibration/range_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace tenon {
namespace {

// What NumPy finds.
struct Case {
  const char* name;
  double entropy, largest, quantile, squared_error, regression;
};
constexpr Case kCases[] = {
#include "calibration/testdata/ranges.inc"
};

// As make_range_cases.py makes them.
RangeHistogram histogram_of(const std::string& name) {
  constexpr int kCount = 20000;
  std::vector<float> values;
  for (int i = 0; i < kCount; ++i) {
    const double u = (i + 0.5) / kCount;
    double value = u;
    if (name == "uniform") value = 3 * u;
    if (name == "heavy") value = u / (1.001 - u);
    if (name == "relu") value = std::max(0.0, (u - 0.5) / (1.001 - u));
    values.push_back(static_cast<float>(value));
  }
  if (name == "outlier") values.push_back(40);
  RangeHistogram histogram;
  EXPECT_TRUE(histogram.add(values));
  return histogram;
}

TEST(RangeSearch, FindsWhatNumpyFinds) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const RangeHistogram histogram = histogram_of(c.name);
    // NumPy's bins are of float64, and quantiles of the values themselves.
    const double bin = histogram.width();
    const auto found = [&](RangeSearch search, double quantile = 1, double cutoff = 1) {
      return find_range(histogram, {search, quantile, cutoff});
    };
    EXPECT_NEAR(found(RangeSearch::kEntropy), c.entropy, bin);
    EXPECT_EQ(found(RangeSearch::kEntropy2), found(RangeSearch::kEntropy));
    EXPECT_EQ(found(RangeSearch::kMinMax), static_cast<float>(c.largest));
    EXPECT_NEAR(found(RangeSearch::kPercentile, 0.99), c.quantile, bin);
    EXPECT_EQ(found(RangeSearch::kPercentile), static_cast<float>(c.largest));
    EXPECT_NEAR(found(RangeSearch::kMeanSquaredError), c.squared_error, bin);
    EXPECT_NEAR(found(RangeSearch::kLegacy, 0.99), c.quantile, bin);
    EXPECT_NEAR(found(RangeSearch::kLegacy, 1, 0.25), c.regression, bin);
    EXPECT_EQ(found(RangeSearch::kLegacy), static_cast<float>(c.largest));
  }
}

// The scales of TensorRT's caches: 3c010204 of least and largest value, 4000890a by entropy.
TEST(RangeSearch, EndsHalfABinBeyondTheLargestValueWhereNothingIsClipped) {
  RangeHistogram histogram;
  ASSERT_TRUE(histogram.add(std::vector<float>{255}));
  EXPECT_EQ(std::bit_cast<uint32_t>(find_range(histogram, {RangeSearch::kEntropy2}) / kLargestInt8),
            0x4000890a);
  RangeHistogram one;
  ASSERT_TRUE(one.add(std::vector<float>{1}));
  EXPECT_EQ(std::bit_cast<uint32_t>(find_range(one, {RangeSearch::kMinMax}) / kLargestInt8),
            0x3c010204);
}

TEST(RangeSearch, HasNoneForZeros) {
  RangeHistogram histogram;
  ASSERT_TRUE(histogram.add(std::vector<float>{0, 1e-42f}));
  for (const RangeSearch search : {RangeSearch::kEntropy, RangeSearch::kMinMax,
                                   RangeSearch::kPercentile, RangeSearch::kMeanSquaredError})
    EXPECT_EQ(find_range(histogram, {search}), 0);
}

// Few values, or all alike, or of the largest floats.
TEST(RangeSearch, IsFiniteAndHoldsWhatThereIs) {
  const float largest = std::numeric_limits<float>::max();
  for (const std::vector<float>& values :
       {std::vector<float>{7}, std::vector<float>(1000, 0.25f), std::vector<float>{0, 5},
        std::vector<float>{largest, 1}, std::vector<float>{1e-30f}}) {
    RangeHistogram histogram;
    ASSERT_TRUE(histogram.add(values));
    for (const RangeSearch search :
         {RangeSearch::kEntropy2, RangeSearch::kMinMax, RangeSearch::kLegacy,
          RangeSearch::kPercentile, RangeSearch::kMeanSquaredError}) {
      const float range = find_range(histogram, {search, 0.5, 0.5});
      EXPECT_GT(range, 0);
      EXPECT_TRUE(std::isfinite(range));
      EXPECT_LE(range, 1.001 * histogram.largest());
    }
  }
}

}  // namespace
}  // namespace tenon
