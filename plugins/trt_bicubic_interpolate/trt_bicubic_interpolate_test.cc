#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

#include <cmath>

namespace {

using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

std::string error_for(const std::vector<float>& factors, const std::vector<int64_t>& dims) {
  PluginCase c = PluginCase("TRTBicubicInterpolate").attribute("scale_factor", factors);
  return c.in("input", dims, std::vector<double>(4))
      .out("output", dims, std::vector<double>(4))
      .check();
}

TEST(TrtBicubicInterpolateTest, FactorsThatAreNoneAreErrors) {
  EXPECT_EQ(error_for({1, 1}, {1, 1, 2, 2}), "");
  EXPECT_THAT(error_for({2}, {1, 1, 2, 2}),
              HasSubstr("must have 2 values (height, width), found 1"));
  for (const float factor : {0.f, -1.f, NAN, INFINITY, 1e30f, 1e-30f})
    EXPECT_THAT(error_for({1, factor}, {1, 1, 2, 2}), HasSubstr("scale_factor must be between"))
        << factor;
  EXPECT_THAT(
      PluginCase("TRTBicubicInterpolate").in("input", {1}, {0}).out("output", {1}, {0}).check(),
      HasSubstr("attribute scale_factor is required"));
}

// As some exporters and programs give them: two floats of length 8.
TEST(TrtBicubicInterpolateTest, FactorsMayCountBytes) {
  const auto check = [](size_t length) {
    PluginCase c("TRTBicubicInterpolate");
    c.attribute("scale_factor", std::vector<float>{2, 1}).length(length);
    return c.in("input", {1, 1, 1, 1}, {3}).out("output", {1, 1, 2, 1}, {3, 3}).check();
  };
  EXPECT_EQ(check(2), "");
  EXPECT_EQ(check(8), "");
  EXPECT_THAT(check(1), HasSubstr("must have 2 values (height, width), found 1"));
}

TEST(TrtBicubicInterpolateTest, ShapesThatDoNotFitAreErrors) {
  EXPECT_THAT(error_for({2, 2}, {1, 2, 2}), HasSubstr("input must have 4 dimensions"));
}

}  // namespace
