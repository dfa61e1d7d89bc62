#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

namespace {

using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

std::string check_group_normalization(int32_t groups, int64_t scales) {
  return PluginCase("GroupNormalizationPlugin")
      .attribute("num_groups", groups)
      .in("x", {1, 4, 1}, {1, 2, 3, 4})
      .in("scale", {scales}, std::vector<double>(static_cast<size_t>(scales)))
      .in("bias", {4}, {0, 0, 0, 0})
      .out("y", {1, 4, 1}, {0, 0, 0, 0})
      .check();
}

TEST(GroupNormalizationTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(check_group_normalization(2, 4), "");
  EXPECT_THAT(check_group_normalization(3, 4),
              HasSubstr("x has 4 channels, which 3 groups do not divide"));
  EXPECT_THAT(check_group_normalization(0, 4), HasSubstr("0 groups do not divide"));
  EXPECT_THAT(check_group_normalization(2, 3),
              HasSubstr("scale and bias must have as many elements, found 3 and 4"));
}

}  // namespace
