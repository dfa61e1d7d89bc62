#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

namespace {

using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

TEST(LayerNormalizationTest, RefusesWhatDoesNotFit) {
  PluginCase gamma = PluginCase("LayerNorm")
                         .in("x", {2, 2}, {1, 2, 3, 4})
                         .in("gamma", {3}, {1, 2, 3})
                         .in("beta", {3}, {1, 2, 3})
                         .out("y", {2, 2}, {0, 0, 0, 0});
  EXPECT_THAT(gamma.check(),
              HasSubstr("x is (2, 2); gamma and beta must have the shape of its last axes, found "
                        "(3) and (3)"));
  PluginCase skip = PluginCase("SkipLayerNormV1")
                        .in("x", {2, 2}, {1, 2, 3, 4})
                        .in("skip", {1, 2}, {1, 2})
                        .in("gamma", {2}, {1, 2})
                        .in("beta", {2}, {1, 2})
                        .out("y", {2, 2}, {0, 0, 0, 0});
  EXPECT_THAT(skip.check(), HasSubstr("x and skip must have one shape, found (2, 2) and (1, 2)"));
}

}  // namespace
