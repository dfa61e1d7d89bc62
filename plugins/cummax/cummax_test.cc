#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

namespace {

using tenon::kit::DataType;
using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

PluginCase two_numbers(int32_t dim) {
  return PluginCase("cummax")
      .attribute("dim", dim)
      .in("x", {2}, {1, 2})
      .out("values", {2}, {1, 2})
      .out("indices", DataType::kINT32, {2}, {0, 1});
}

TEST(CummaxTest, RefusesOtherDimensions) {
  EXPECT_EQ(two_numbers(0).check(), "");
  EXPECT_THAT(two_numbers(1).check(), HasSubstr("dim is 1, but x has 1 dimensions"));
  EXPECT_THAT(two_numbers(-2).check(), HasSubstr("dim is -2, but x has 1 dimensions"));
}

TEST(CummaxTest, IntegersAreComparedExactly) {
  PluginCase large = PluginCase("cummax")
                         .in("x", DataType::kINT32, {3}, {16777217, 16777216, 16777218})
                         .out("values", DataType::kINT32, {3}, {16777217, 16777217, 16777218})
                         .out("indices", DataType::kINT32, {3}, {0, 0, 2});
  EXPECT_EQ(large.check(), "");
}

}  // namespace
