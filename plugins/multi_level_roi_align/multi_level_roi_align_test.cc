#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

namespace {

using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

// A roi, two maps of one pixel, two strides.
struct MultiLevelRoiAlignValues {
  std::vector<int64_t> rois = {1, 5}, first = {1, 1, 1, 1}, second = {1, 1, 1, 1};
  std::vector<float> strides = {4, 8};
  std::vector<double> roi = {0, 0, 0, 1, 1};
};
std::string check_multi_level_roi_align(const MultiLevelRoiAlignValues& values,
                                        const char* name = "sampling_ratio", int32_t value = 2) {
  const auto ones = [](const std::vector<int64_t>& dims) {
    return std::vector<double>(static_cast<size_t>(dims.size() == 4 ? dims[1] : 1), 1);
  };
  return PluginCase("MMCVMultiLevelRoiAlign")
      .attribute("featmap_strides", values.strides)
      .attribute(name, value)
      .in("rois", values.rois, values.roi)
      .in("feat0", values.first, ones(values.first))
      .in("feat1", values.second, ones(values.second))
      .out("roi_feats", {1, 1, 7, 7}, std::vector<double>(49, 1))
      .check();
}

TEST(MultiLevelRoiAlignTest, ShapesThatDoNotFitAreErrors) {
  EXPECT_EQ(check_multi_level_roi_align({}), "");
  EXPECT_THAT(check_multi_level_roi_align({.strides = {4}}),
              HasSubstr("2 dimensions, 2 maps and 1 strides"));
  EXPECT_THAT(check_multi_level_roi_align({.second = {1}}),
              HasSubstr("feature map 1 must have 4 dimensions"));
  EXPECT_THAT(check_multi_level_roi_align({.second = {1, 2, 1, 1}}),
              HasSubstr("feature map 1 has 2 channels, the first one 1"));
  EXPECT_THAT(check_multi_level_roi_align({.rois = {1, 4}, .roi = {0, 0, 1, 1}}),
              HasSubstr("rois must have 5 columns, found 4"));
}

TEST(MultiLevelRoiAlignTest, AttributesOutOfRangeAreErrors) {
  EXPECT_THAT(check_multi_level_roi_align({.strides = {4, 0}}),
              HasSubstr("featmap_strides must be positive"));
  EXPECT_THAT(check_multi_level_roi_align({}, "finest_scale", 0), HasSubstr("found 0 and 2"));
  EXPECT_THAT(check_multi_level_roi_align({}, "sampling_ratio", 1025),
              HasSubstr("found 56 and 1025"));
  EXPECT_THAT(check_multi_level_roi_align({}, "output_width", 0),
              HasSubstr("must be at least 1, found 7 and 0"));
}

TEST(MultiLevelRoiAlignTest, MinusOneSamplesAsManyAsElements) {
  EXPECT_EQ(check_multi_level_roi_align({}, "sampling_ratio", -1), "");
}

TEST(MultiLevelRoiAlignTest, RoisOfNoImageAreErrors) {
  EXPECT_THAT(check_multi_level_roi_align({.roi = {1, 0, 0, 1, 1}}),
              HasSubstr("region 0 is of image 1; there are 1"));
}

}  // namespace
