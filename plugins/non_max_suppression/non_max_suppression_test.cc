#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

namespace {

using tenon::kit::DataType;
using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

TEST(NonMaxSuppressionTest, ShapesThatDoNotFitAreErrors) {
  const auto error = [](std::vector<int64_t> boxes, std::vector<int64_t> scores) {
    return PluginCase("NonMaxSuppression")
        .in("boxes", std::move(boxes), std::vector<double>(24, 0))
        .in("scores", std::move(scores), std::vector<double>(6, 0))
        .out("indices", DataType::kINT32, {6, 3}, std::vector<double>(18, 0))
        .check();
  };
  EXPECT_THAT(error({1, 6, 4}, {1, 3, 2}), HasSubstr("expected as many boxes"));
  EXPECT_THAT(error({6, 4}, {1, 1, 6}),
              HasSubstr("boxes (6, 4) and scores (1, 1, 6) do not fit; expected boxes of shape"));
}

TEST(NonMaxSuppressionTest, UnknownCodingsAreErrors) {
  EXPECT_THAT(PluginCase("EfficientNMS_ONNX_TRT")
                  .attribute("max_output_boxes_per_class", 1)
                  .attribute("center_point_box", 2)
                  .check(),
              HasSubstr("expected a center_point_box of 0 or 1, found 2"));
}

TEST(EfficientNmsOnnxTest, ImagesHaveAnAxis) {
  EXPECT_THAT(PluginCase("EfficientNMS_ONNX_TRT")
                  .attribute("max_output_boxes_per_class", 1)
                  .in("boxes", {2, 4}, std::vector<double>(8, 0))
                  .in("scores", {2, 1}, {0, 0})
                  .out("indices", DataType::kINT32, {1, 3}, {-1, -1, -1})
                  .check(),
              HasSubstr("scores must have shape (images, boxes, classes), found 2 dimensions"));
}

TEST(TorchNmsTest, ShapesThatDoNotFitAreErrors) {
  EXPECT_THAT(PluginCase("TorchNMSPluginDynamic")
                  .attribute("iou_threshold", 0.5f)
                  .in("boxes", {1, 2, 4}, std::vector<double>(8, 0))
                  .in("scores", {2}, {0, 0})
                  .out("indices", DataType::kINT32, {2}, {0, -1})
                  .check(),
              HasSubstr("expected boxes (B, 4) and scores (B), found (1, 2, 4) and (2)"));
}

}  // namespace
