#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

#include <cmath>

namespace {

using tenon::kit::DataType;
using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

PluginCase with_rois(PluginCase c, std::vector<int64_t> dims, std::vector<double> rois) {
  return c.in("input", {2, 1, 2, 2}, std::vector<double>(8, 1))
      .in("rois", std::move(dims), std::move(rois))
      .out("output", {1, 1, 7, 7}, std::vector<double>(49, 1));
}
std::string error_for(std::vector<double> roi) {
  return with_rois(PluginCase("MMCVRoiAlign"), {1, 5}, std::move(roi)).check();
}

TEST(RoiAlignTest, RoisOfNoImageAreErrors) {
  EXPECT_THAT(error_for({2, 0, 0, 1, 1}), HasSubstr("region 0 is of image 2; there are 2"));
  EXPECT_THAT(error_for({-1, 0, 0, 1, 1}), HasSubstr("region 0 is of image -1"));
  EXPECT_THAT(error_for({0.5, 0, 0, 1, 1}), HasSubstr("region 0 is of image -1"));
  EXPECT_THAT(error_for({NAN, 0, 0, 1, 1}), HasSubstr("region 0 is of image -1"));
}

TEST(RoiAlignTest, RoisWithoutAPlaceAreErrors) {
  EXPECT_THAT(error_for({1, NAN, 0, 1, 1}), HasSubstr("a coordinate that is not a finite number"));
  EXPECT_THAT(error_for({1, 0, 0, INFINITY, 1}), HasSubstr("not a finite number"));
}

// Their samples lie outside of the map, and only a few are looked at.
TEST(RoiAlignTest, GiantRoisTakeNoLongerThanTheirMap) {
  PluginCase c = PluginCase("ROIAlign_TRT", "2")
                     .attribute("output_height", 2)
                     .attribute("output_width", 2)
                     .in("X", DataType::kFLOAT, {1, 1, 2, 2}, {1, 2, 3, 4})
                     .in("rois", DataType::kFLOAT, {1, 4}, {1e30, 1e30, 2e36, 3e36})
                     .in("batch_indices", DataType::kINT32, {1}, {0})
                     .out("Y", DataType::kFLOAT, {1, 1, 2, 2}, {0, 0, 0, 0});
  EXPECT_EQ(c.check(), "");
}

TEST(RoiAlignTest, GiantRoisOfEveryKindTakeNoLongerThanTheirMap) {
  const auto check = [](PluginCase c, const std::vector<int64_t>& dims,
                        const std::vector<double>& roi) {
    return c.attribute("output_height", 1)
        .attribute("output_width", 1)
        .in("input", DataType::kFLOAT, {1, 1, 2, 2}, {1, 2, 3, 4})
        .in("rois", DataType::kFLOAT, dims, roi)
        .out("output", DataType::kFLOAT, {1, 1, 1, 1}, {0})
        .check();
  };
  const PluginCase maximum = PluginCase("MMCVRoiAlign").attribute("mode", "max");
  EXPECT_EQ(check(maximum, {1, 5}, {0, -1e30, -2e30, 1e30, 3e30}), "");
  const PluginCase rotated("MMCVRoIAlignRotated");
  EXPECT_EQ(check(rotated, {1, 6}, {0, 1, 2, 1e30, 2e30, 0.5}), "");
  EXPECT_EQ(check(rotated, {1, 6}, {0, 1e30, 2, 1e6, 3e36, -2}), "");
}

TEST(RoiAlignTest, ShapesThatDoNotFitAreErrors) {
  EXPECT_THAT(with_rois(PluginCase("MMCVRoiAlign"), {1, 4}, {0, 0, 1, 1}).check(),
              HasSubstr("rois (count, 5)"));
  EXPECT_THAT(with_rois(PluginCase("MMCVRoiAlign"), {5}, {0, 0, 0, 1, 1}).check(),
              HasSubstr("rois of 2, found 4 and 1"));
}

// As in MMCV and torchvision: at 0, 1, 2 and 3 along each axis.
TEST(RoiAlignTest, MinusOneSamplesAsManyAsElements) {
  const auto check = [](const char* name, std::vector<double> roi) {
    const auto columns = static_cast<int64_t>(roi.size());
    return PluginCase(name)
        .attribute("sampling_ratio", -1)
        .attribute("output_height", 1)
        .attribute("output_width", 1)
        .in("input", {1, 1, 4, 4}, {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3})
        .in("rois", {1, columns}, std::move(roi))
        .out("output", {1, 1, 1, 1}, {1.5})
        .check();
  };
  EXPECT_EQ(check("MMCVRoiAlign", {0, 0, 0, 4, 4}), "");
  EXPECT_EQ(check("MMCVRoIAlignRotated", {0, 2, 2, 4, 4, 0}), "");
}

TEST(RoiAlignTest, AttributesOutOfRangeAreErrors) {
  const auto error = [](const char* name, int32_t value) {
    PluginCase c = PluginCase("MMCVRoiAlign").attribute(name, value);
    return with_rois(c, {1, 5}, {0, 0, 0, 1, 1}).check();
  };
  EXPECT_THAT(error("sampling_ratio", 1025), HasSubstr("sampling_ratio must be 0 to 1024"));
  EXPECT_THAT(error("output_height", 0), HasSubstr("must be at least 1, found 0 and 7"));
}

}  // namespace
