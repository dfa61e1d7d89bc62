// What cases are too small for: cells of more columns than are pooled at a time.
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

#include <algorithm>

namespace {

using tenon::kit::testing::PluginCase;

std::string check_pool(const char* type, int32_t cells, int64_t columns) {
  std::vector<double> x, expected;
  for (int64_t i = 0; i < 2 * columns; ++i) x.push_back(static_cast<double>(i * 37 % 17 - 8));
  for (int64_t cell = 0; cell < cells; ++cell) {
    const int64_t first = cell * columns / cells, end = ((cell + 1) * columns + cells - 1) / cells;
    double sum = 0, largest = -100;
    for (const int64_t row : {int64_t{0}, columns})
      for (int64_t i = first; i < end; ++i) {
        sum += x[static_cast<size_t>(row + i)];
        largest = std::max(largest, x[static_cast<size_t>(row + i)]);
      }
    expected.push_back(
        std::string_view(type) == "avg" ? sum / static_cast<double>(2 * (end - first)) : largest);
  }
  return PluginCase("AdaptivePoolPluginDynamic")
      .attribute("pooling_type", std::string_view(type) == "avg" ? 1 : 0)
      .attribute("output_size", std::vector<int32_t>{1, cells})
      .in("x", {1, 1, 2, columns}, x)
      .out("y", {1, 1, 1, cells}, expected)
      .check();
}

TEST(AdaptivePoolTest, LongRows) {
  for (const char* type : {"avg", "max"})
    for (const int32_t cells : {1, 2, 3, 7, 100, 700})
      EXPECT_EQ(check_pool(type, cells, 700), "") << type << " " << cells;
}

}  // namespace
