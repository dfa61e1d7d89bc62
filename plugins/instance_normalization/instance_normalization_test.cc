#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

namespace {

using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

TEST(InstanceNormalizationTest, RefusesWhatDoesNotFit) {
  PluginCase flat = PluginCase("InstanceNorm").in("x", {2, 2}, {1, 2, 3, 4}).out("y", {2, 2}, {});
  EXPECT_THAT(flat.check(), HasSubstr("x must have at least 3 dimensions (N, C, ...), found 2"));
  PluginCase inputs = PluginCase("MMCVInstanceNormalization")
                          .in("x", {1, 2, 1}, {1, 2})
                          .in("scale", {1}, {1})
                          .in("bias", {2}, {1, 2})
                          .out("y", {1, 2, 1}, {0, 0});
  EXPECT_THAT(
      inputs.check(),
      HasSubstr("x has 2 channels; scale and bias must have as many elements, found 1 and 2"));
  PluginCase attributes = PluginCase("InstanceNormalization_TRT", "3")
                              .attribute("scales", std::vector<float>{1, 2, 3})
                              .attribute("bias", std::vector<float>{1, 2, 3})
                              .in("x", {1, 2, 1}, {1, 2})
                              .out("y", {1, 2, 1}, {0, 0});
  EXPECT_THAT(attributes.check(), HasSubstr("found 3 and 3"));
  PluginCase missing = PluginCase("InstanceNormalization_TRT", "1")
                           .attribute("scales", std::vector<float>{1, 2})
                           .in("x", {1, 2, 1}, {1, 2})
                           .out("y", {1, 2, 1}, {0, 0});
  EXPECT_THAT(missing.check(), HasSubstr("attribute bias is required"));
}

}  // namespace
