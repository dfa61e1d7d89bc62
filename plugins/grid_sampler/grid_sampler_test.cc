#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

#include <cmath>

namespace {

using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

std::string error_of(PluginCase c, std::vector<int64_t> x, std::vector<int64_t> grid) {
  const auto zeros = [](const std::vector<int64_t>& dims) {
    int64_t count = 1;
    for (const int64_t d : dims) count *= d;
    return std::vector<double>(static_cast<size_t>(count));
  };
  return c.in("input", x, zeros(x))
      .in("grid", grid, zeros(grid))
      .out("output", {1, 1, 1, 1}, {0})
      .check();
}

TEST(GridSamplerTest, ShapesThatDoNotFitAreErrors) {
  const PluginCase c("grid_sampler");
  EXPECT_THAT(error_of(c, {1, 1, 2}, {1, 1, 1}), HasSubstr("found 3 and 3"));
  EXPECT_THAT(error_of(c, {1, 1, 2, 2}, {1, 1, 1, 1, 2}), HasSubstr("found 4 and 5"));
  EXPECT_THAT(error_of(c, {1, 1, 2, 2}, {2, 1, 1, 2}), HasSubstr("batch size of the input, 1"));
  EXPECT_THAT(error_of(c, {1, 1, 2, 2}, {1, 1, 1, 3}), HasSubstr("2 coordinates, found 1 and 3"));
  EXPECT_THAT(error_of(c, {1, 1, 0, 2}, {1, 1, 1, 2}), HasSubstr("no elements to sample"));
}

TEST(GridSamplerTest, VolumesHaveNoCubics) {
  PluginCase c("grid_sampler");
  c.attribute("interpolation_mode", 2);
  EXPECT_THAT(error_of(c, {1, 1, 2, 2, 2}, {1, 1, 1, 1, 3}),
              HasSubstr("bicubic interpolation is for inputs of 4 dimensions"));
}

TEST(GridSamplerTest, AnyPositionIsSafe) {
  for (const int32_t padding : {0, 1, 2}) {
    const double outside = padding == 0 ? 0 : 3;
    PluginCase c("grid_sampler");
    c.attribute("padding_mode", padding)
        .in("input", {1, 1, 2, 2}, {3, 3, 3, 3})
        .in("grid", {1, 1, 3, 2}, {NAN, 0, INFINITY, -INFINITY, -60000, 0})
        .out("output", {1, 1, 1, 3}, {outside, outside, outside});
    EXPECT_EQ(c.check(), "") << padding;
  }
}

// Not even an address is made of what is not there, which UBSan would report.
TEST(GridSamplerTest, ImagesOfNoChannels) {
  PluginCase c("grid_sampler");
  c.in("input", {2, 0, 3, 3}, {})
      .in("grid", {2, 9, 9, 2}, std::vector<double>(324))
      .out("output", {2, 0, 9, 9}, {});
  EXPECT_EQ(c.check(), "");
}

// An element that is infinite does not spoil its neighbours.
TEST(GridSamplerTest, ElementsWithoutWeightDoNotCount) {
  for (const int64_t rows : {1, 2}) {
    std::vector<double> x{1, 2, INFINITY};
    if (rows == 2) x.insert(x.end(), 3, NAN);
    PluginCase c("grid_sampler");
    c.attribute("align_corners", 1)
        .in("input", {1, 1, rows, 3}, x)
        .in("grid", {1, 1, 1, 2}, {0, -1})
        .out("output", {1, 1, 1, 1}, {2});
    EXPECT_EQ(c.check(), "") << rows;
  }
}

}  // namespace
