#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

namespace {

using tenon::kit::testing::PluginCase;

TEST(CoordConvTest, RefusesOtherRanks) {
  EXPECT_THAT(
      PluginCase("CoordConvAC").in("x", {1, 1, 1}, {1}).out("y", {3, 1, 1}, {1, -1, -1}).check(),
      ::testing::HasSubstr("x must have 4 dimensions (N, C, H, W), found 3"));
}

}  // namespace
