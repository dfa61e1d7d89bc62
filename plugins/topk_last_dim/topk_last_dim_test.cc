// What cases are too small for: long rows, with NaNs, zeros of both signs and equal elements.
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace {

using tenon::kit::testing::PluginCase;

std::string check_topk(bool largest, int32_t k) {
  constexpr int64_t kCount = 500;
  std::vector<double> x;
  for (int64_t i = 0; i < kCount; ++i)
    x.push_back(i % 91 == 7   ? NAN
                : i % 13 == 0 ? (i % 2 == 0 ? 0. : -0.)
                              : static_cast<double>(i * 37 % 101 - 50));
  const auto before = [&](size_t a, size_t b) {
    const double l = x[a], r = x[b];
    if (std::isnan(l) || std::isnan(r))
      return largest ? std::isnan(l) && !std::isnan(r) : !std::isnan(l) && std::isnan(r);
    return largest ? l > r : l < r;
  };
  std::vector<size_t> order(kCount);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, before);
  std::vector<double> values, indices;
  for (size_t i = 0; i < static_cast<size_t>(k); ++i) {
    values.push_back(x[order[i]]);
    indices.push_back(static_cast<double>(order[i]));
  }
  return PluginCase("TopkLastDim")
      .attribute("k", k)
      .attribute("is_largest", largest ? 1 : 0)
      .in("x", {1, kCount}, x)
      .out("values", {1, k}, values)
      .out("indices", nvinfer1::DataType::kINT32, {1, k}, indices)
      .check();
}

TEST(TopkLastDimTest, LongRows) {
  for (const bool largest : {true, false})
    for (const int32_t k : {1, 30, 499, 500}) EXPECT_EQ(check_topk(largest, k), "") << k;
}

}  // namespace
