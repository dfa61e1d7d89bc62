#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

#include <cmath>

namespace {

using tenon::kit::DataType;
using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

// One query, head, channel and point; the value has 6 elements in a level of 2 x 3.
struct DeformableAttentionValues {
  std::vector<double> shapes = {2, 3}, starts = {0}, locations = {0.5, 0.25};
  std::vector<int64_t> weights = {1, 1, 1, 1, 1};
  double y = 1;
};
std::string check_deformable_attention(const DeformableAttentionValues& values) {
  return PluginCase("MMCVMultiScaleDeformableAttention")
      .in("value", {1, 6, 1, 1}, {0, 1, 2, 3, 4, 5})
      .in("value_spatial_shapes", DataType::kINT32, {1, 2}, values.shapes)
      .in("value_level_start_index", DataType::kINT32, {1}, values.starts)
      .in("sampling_locations", {1, 1, 1, 1, 1, 2}, values.locations)
      .in("attention_weights", values.weights, {1})
      .out("output", {1, 1, 1}, {values.y})
      .check();
}

TEST(DeformableAttentionTest, LevelsOutsideOfTheValueAreErrors) {
  EXPECT_EQ(check_deformable_attention({}), "");
  EXPECT_THAT(check_deformable_attention({.shapes = {3, 3}}),
              HasSubstr("level 0, of 3 x 3 elements from 0 on, is not part of a value of 6"));
  EXPECT_THAT(check_deformable_attention({.starts = {1}}), HasSubstr("from 1 on"));
  EXPECT_THAT(check_deformable_attention({.starts = {-1}}), HasSubstr("from -1 on"));
  EXPECT_THAT(check_deformable_attention({.shapes = {-2, -3}}), HasSubstr("of -2 x -3 elements"));
  EXPECT_THAT(check_deformable_attention({.shapes = {2147483647, 2147483647}}),
              HasSubstr("is not part of a value"));
}

TEST(DeformableAttentionTest, AnyLocationIsSafe) {
  for (const double location : {double{NAN}, double{INFINITY}, -60000.0})
    EXPECT_EQ(check_deformable_attention({.locations = {location, 0.25}, .y = 0}), "") << location;
}

TEST(DeformableAttentionTest, ShapesThatDoNotFitAreErrors) {
  EXPECT_THAT(check_deformable_attention({.weights = {1, 1, 1, 1}}),
              HasSubstr("attention_weights must have 5 dimensions, found 4"));
}

}  // namespace
