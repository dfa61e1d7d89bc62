#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

namespace {

using tenon::kit::DataType;
using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

std::string error_for(std::vector<int64_t> indices, std::vector<double> values) {
  return PluginCase("GatherTopk")
      .in("data", {1, 2, 1}, {7, 8})
      .in("indices", DataType::kINT32, std::move(indices), std::move(values))
      .out("output", {1, 1, 1}, {8})
      .check();
}

TEST(GatherTopkTest, IndicesOutsideAreErrors) {
  EXPECT_EQ(error_for({1, 1}, {-1}), "");
  EXPECT_THAT(error_for({1, 1}, {2}), HasSubstr("index 2 is outside [-2, 2)"));
}

TEST(GatherTopkTest, ShapesThatDoNotFitAreErrors) {
  EXPECT_THAT(error_for({}, {0}), HasSubstr("indices must have an axis"));
}

}  // namespace
