#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

namespace {

using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

std::string printed(PluginCase test) {
  ::testing::internal::CaptureStdout();
  const std::string error = test.check();
  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(error, "");
  return text;
}

TEST(DebugTest, PrintsWhatTheTensorHolds) {
  const PluginCase numbers = PluginCase("DebugDynamicPlugin")
                                 .attribute("label", "after conv1:")
                                 .attribute("count", int32_t{3})
                                 .in("x", {2, 2}, {1, -2, 0.5, 4})
                                 .out("y", {2, 2}, {1, -2, 0.5, 4});
  EXPECT_THAT(printed(numbers),
              HasSubstr("after conv1: (2, 2): 1 -2 0.5 ...; from -2 to 4, mean 0.875\n"));
}

TEST(DebugTest, CountsNansBesideTheNumbers) {
  const double nan = std::nan("");
  const PluginCase some =
      PluginCase("DebugPlugin").in("x", {3}, {1, nan, 2}).out("y", {3}, {1, nan, 2});
  EXPECT_THAT(printed(some), HasSubstr("(3): 1 nan 2; from 1 to 2, mean 1.5, 1 NaN\n"));
  const PluginCase none = PluginCase("DebugPlugin").in("x", {0}, {}).out("y", {0}, {});
  EXPECT_THAT(printed(none), HasSubstr("(0):\n"));
}

}  // namespace
