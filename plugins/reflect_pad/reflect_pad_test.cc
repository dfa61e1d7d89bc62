#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

namespace {

using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

std::string check_reflect_pad(const std::vector<int32_t>& padding) {
  return PluginCase("ReflectPad")
      .attribute("padding", padding)
      .in("x", {2}, {1, 2})
      .out("y", {3}, {1, 2, 1})
      .check();
}

TEST(ReflectPadTest, RefusesPaddingThatDoesNotFit) {
  EXPECT_EQ(check_reflect_pad({0, 1}), "");
  EXPECT_THAT(check_reflect_pad({}), HasSubstr("padding has 0 elements; expected 1, 2, 4 or 6"));
  EXPECT_THAT(check_reflect_pad({1, 2, 3}), HasSubstr("padding has 3 elements"));
  EXPECT_THAT(check_reflect_pad({1}), HasSubstr("padding is for 2 axes, but x has 1"));
  EXPECT_THAT(check_reflect_pad({-1, 2}),
              HasSubstr("an axis of 2 elements cannot be mirrored by -1"));
  PluginCase wide = PluginCase("ReflectPad")
                        .attribute("padding", std::vector<int32_t>{0, 2})
                        .in("x", {2}, {1, 2})
                        .out("y", {4}, {1, 2, 1, 2});
  EXPECT_THAT(wide.check(), HasSubstr("cannot be mirrored by 2"));
}

}  // namespace
