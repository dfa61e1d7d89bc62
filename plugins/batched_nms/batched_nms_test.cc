#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

namespace {

using tenon::kit::DataType;
using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

PluginCase plugin(int32_t rows = 1, float overlap = 0.5f) {
  PluginCase c("TRTBatchedNMS");
  c.attribute("keep_topk", rows).attribute("iou_threshold", overlap);
  return c;
}
std::string error_for(PluginCase c, std::vector<int64_t> boxes, std::vector<int64_t> scores) {
  const auto volume = [](const std::vector<int64_t>& dims) {
    int64_t v = 1;
    for (const int64_t d : dims) v *= d;
    return static_cast<size_t>(v);
  };
  const int64_t images = boxes[0];
  return c.in("boxes", boxes, std::vector<double>(volume(boxes), 0))
      .in("scores", scores, std::vector<double>(volume(scores), 0))
      .out("dets", {images, 1, 5}, std::vector<double>(static_cast<size_t>(images * 5), 0))
      .out("labels", DataType::kINT32, {images, 1},
           std::vector<double>(static_cast<size_t>(images), -1))
      .check();
}

TEST(BatchedNmsTest, ShapesThatDoNotFitAreErrors) {
  EXPECT_EQ(error_for(plugin(), {2, 3, 1, 4}, {2, 3, 5}), "");
  EXPECT_THAT(error_for(plugin(), {2, 3, 1, 5}, {2, 3, 5}),
              HasSubstr("boxes (2, 3, 1, 5) and scores (2, 3, 5) do not fit; expected boxes of "
                        "shape (images, boxes, 4)"));
  EXPECT_THAT(error_for(plugin(), {1, 3, 1, 4}, {2, 3, 5}), HasSubstr("expected as many images"));
  EXPECT_THAT(error_for(plugin(), {2, 4, 1, 4}, {2, 3, 5}), HasSubstr("expected as many boxes"));
  EXPECT_THAT(error_for(plugin(), {2, 3, 2, 4}, {2, 3, 5}), HasSubstr("expected as many classes"));
  EXPECT_THAT(error_for(plugin(), {2, 3, 4}, {2, 3, 5, 2}), HasSubstr("expected scores of shape"));
}

TEST(BatchedNmsTest, ClassesAreCounted) {
  EXPECT_THAT(error_for(plugin().attribute("num_classes", 80), {2, 3, 1, 4}, {2, 3, 5}),
              HasSubstr("scores (2, 3, 5) are of 5 classes, but the attribute says 80"));
}

TEST(BatchedNmsTest, AttributesOutOfRangeAreErrors) {
  EXPECT_THAT(error_for(plugin(-1), {1, 1, 4}, {1, 1, 1}),
              HasSubstr("expected 0 or more boxes to keep, found -1"));
  EXPECT_THAT(error_for(plugin(1, -0.5f), {1, 1, 4}, {1, 1, 1}),
              HasSubstr("expected an IoU threshold of 0 or more, found -0.5"));
  EXPECT_THAT(error_for(PluginCase("TRTBatchedNMS"), {1, 1, 4}, {1, 1, 1}),
              HasSubstr("attribute keep_topk is required"));
}

}  // namespace
