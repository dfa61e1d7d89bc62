#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

#include <cmath>

namespace {

using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

std::string check_upsample(int32_t factor, const std::vector<int64_t>& dims) {
  return PluginCase("UpsamplePlugin")
      .attribute("scaleFactor", factor)
      .in("x", dims, {1})
      .out("y", {1, 1, 2, 2}, {1, 1, 1, 1})
      .check();
}

TEST(UpsampleTest, RefusesOtherRanksAndFactors) {
  EXPECT_EQ(check_upsample(2, {1, 1, 1, 1}), "");
  EXPECT_THAT(check_upsample(2, {1, 1, 1}),
              HasSubstr("x must have 4 dimensions (N, C, H, W), found 3"));
  EXPECT_THAT(check_upsample(0, {1, 1, 1, 1}), HasSubstr("scaleFactor must be 1 or more, found 0"));
}

TEST(UpsampleNearestTest, RefusesFactorsThatAreNone) {
  for (const float scale : {0.f, -1.f, NAN})
    EXPECT_THAT(PluginCase("UpSamplePlugin_TRT", "01", "_TRT")
                    .attribute("scale", scale)
                    .in("x", {1, 1, 1, 1}, {1})
                    .out("y", {1, 1, 1, 1}, {1})
                    .check(),
                HasSubstr("scale must be between 1/1048576 and 1048576"));
}

}  // namespace
