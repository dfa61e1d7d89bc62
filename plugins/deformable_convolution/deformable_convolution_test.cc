#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

namespace {

using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

std::vector<double> zeros(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t d : dims) count *= d;
  return std::vector<double>(static_cast<size_t>(count));
}

// A 2 x 3 kernel on 4 channels of 5 x 6.
struct DeformableConvolutionValues {
  std::vector<int64_t> offset = {1, 12, 4, 4}, mask = {1, 6, 4, 4}, weight = {2, 4, 2, 3},
                       bias = {2};
};
std::string check_deformable_convolution(PluginCase c,
                                         const DeformableConvolutionValues& values = {}) {
  return c.in("input", {1, 4, 5, 6}, zeros({1, 4, 5, 6}))
      .in("offset", values.offset, zeros(values.offset))
      .in("mask", values.mask, zeros(values.mask))
      .in("weight", values.weight, zeros(values.weight))
      .in("bias", values.bias, zeros(values.bias))
      .out("output", {1, 2, 4, 4}, zeros({1, 2, 4, 4}))
      .check();
}
PluginCase modulated() {
  return PluginCase("MMCVModulatedDeformConv2d");
}

TEST(DeformableConvolutionTest, ShapesThatDoNotFitAreErrors) {
  EXPECT_EQ(check_deformable_convolution(modulated()), "");
  EXPECT_THAT(check_deformable_convolution(modulated(), {.offset = {1, 6, 4, 4}}),
              HasSubstr("the offset must be 1 x 12 x 4 x 4, found 1 x 6 x 4 x 4"));
  EXPECT_THAT(check_deformable_convolution(modulated(), {.mask = {1, 6, 4, 3}}),
              HasSubstr("the mask must be 1 x 6 x 4 x 4, found 1 x 6 x 4 x 3"));
  EXPECT_THAT(check_deformable_convolution(modulated(), {.weight = {2, 3, 2, 3}}),
              HasSubstr("1 groups do not fit 4 channels and a weight of 2 x 3"));
  EXPECT_THAT(check_deformable_convolution(modulated(), {.bias = {3}}),
              HasSubstr("the bias must have 2 elements"));
  EXPECT_THAT(check_deformable_convolution(modulated(), {.weight = {2, 4, 6}}),
              HasSubstr("input 3 must have 4 dimensions, found 3"));
}

TEST(DeformableConvolutionTest, AttributesOutOfRangeAreErrors) {
  using List = std::vector<int32_t>;
  EXPECT_THAT(check_deformable_convolution(modulated().attribute("stride", List{0, 1})),
              HasSubstr("stride must be at least 1, found [0, 1]"));
  EXPECT_THAT(check_deformable_convolution(modulated().attribute("dilation", List{1, 1, 1})),
              HasSubstr("dilation must have 1 or 2 values, found [1, 1, 1]"));
  EXPECT_THAT(check_deformable_convolution(modulated().attribute("padding", List{0, 0, 0, 1})),
              HasSubstr("padding [0, 0, 0, 1] differs between the sides"));
  EXPECT_THAT(check_deformable_convolution(modulated().attribute("groups", 0)),
              HasSubstr("0 groups do not fit"));
  EXPECT_THAT(check_deformable_convolution(modulated().attribute("deform_groups", 3)),
              HasSubstr("3 offset groups do not fit 4 channels"));
}

}  // namespace
