#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

namespace {

using tenon::kit::DataType;
using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

std::string error_for(PluginCase c, std::vector<int64_t> anchors) {
  int64_t volume = 1;
  for (const int64_t d : anchors) volume *= d;
  return c.attribute("max_output_boxes", 1)
      .in("boxes", {2, 3, 4}, std::vector<double>(24, 0))
      .in("scores", {2, 3, 1}, std::vector<double>(6, 0))
      .in("anchors", anchors, std::vector<double>(static_cast<size_t>(volume), 0))
      .out("num_detections", DataType::kINT32, {2, 1}, {0, 0})
      .out("detection_boxes", {2, 1, 4}, std::vector<double>(8, 0))
      .out("detection_scores", {2, 1}, {0, 0})
      .out("detection_classes", DataType::kINT32, {2, 1}, {0, 0})
      .check();
}

TEST(EfficientNmsTest, AnchorsThatDoNotFitAreErrors) {
  const PluginCase plugin("EfficientNMS_TRT");
  EXPECT_EQ(error_for(plugin, {1, 3, 4}), "");
  for (const std::vector<int64_t>& anchors :
       {std::vector<int64_t>{3, 3, 4}, {2, 2, 4}, {2, 3, 5}, {3, 4}})
    EXPECT_THAT(error_for(plugin, anchors), HasSubstr("do not fit boxes (2, 3, 4); expected "
                                                      "(images or 1, boxes, 4)"));
}

TEST(EfficientNmsTest, UnknownCodingsAreErrors) {
  EXPECT_THAT(error_for(PluginCase("EfficientNMS_TRT").attribute("box_coding", 2), {1, 3, 4}),
              HasSubstr("attribute box_coding is 2; expected 0 or 1"));
}

}  // namespace
