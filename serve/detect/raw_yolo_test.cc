#include "tenon/serve/raw_yolo.h"

#include <gmock/gmock.h>

#include <cmath>

#include "goldens.h"

namespace tenon::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::vector<std::array<float, 2>> kSizes[] = {
    {{10, 13}, {16, 30}, {33, 23}}, {{30, 41}, {22, 25}, {19, 39}}, {{36, 30}, {16, 48}, {43, 36}}};

class Anchors : public ::testing::TestWithParam<std::string> {
 protected:
  std::vector<AnchorLevel> levels() {
    std::vector<AnchorLevel> levels;
    for (size_t i = 0; i < 3; ++i) levels.push_back({heads_[i].view(), 8 << i, kSizes[i]});
    return levels;
  }

 private:
  Golden heads_[3] = {Golden("anchors." + GetParam() + "_8"),
                      Golden("anchors." + GetParam() + "_16"),
                      Golden("anchors." + GetParam() + "_32")};
};

DetectOptions many_boxes() {
  DetectOptions options = golden_options();
  options.nms.max_boxes = 1000;
  return options;
}

TEST_P(Anchors, OfV3AreThePapers) {
  expect_boxes(decode_anchors(levels(), AnchorCoding::kV3, many_boxes()), "anchors.v3_boxes");
}

TEST_P(Anchors, OfV5AreThePapers) {
  expect_boxes(decode_anchors(levels(), AnchorCoding::kV5, many_boxes()), "anchors.v5_boxes");
}

// With a class each, no box is given twice, and the best class is the same.
TEST_P(Anchors, SeveralClassesOfABox) {
  DetectOptions options = many_boxes();
  options.multi_label = true;
  options.nms.iou_threshold = 1;
  const auto several = decode_anchors(levels(), AnchorCoding::kV5, options);
  options.multi_label = false;
  const auto best = decode_anchors(levels(), AnchorCoding::kV5, options);
  ASSERT_TRUE(several && best);
  EXPECT_GT(several->size(), best->size());
  std::map<int64_t, float> highest;
  for (const Box& box : *several) {
    EXPECT_GT(box.score, options.score_threshold);
    highest[box.index] = std::max(highest[box.index], box.score);
  }
  EXPECT_EQ(highest.size(), best->size());
  for (const Box& box : *best) EXPECT_EQ(highest[box.index], box.score);
}

INSTANTIATE_TEST_SUITE_P(Orders, Anchors, ::testing::Values("channels", "split"));

TEST(AnchorLevels, AreRefusedWhereTheyDoNotFit) {
  const std::vector<float> numbers(48);
  const auto error = [](const AnchorLevel& level, const DetectOptions& options = {}) {
    return decode_anchors(std::span(&level, 1), AnchorCoding::kV5, options).error();
  };
  const std::vector<std::array<float, 2>> two = {{1, 2}, {3, 4}};
  EXPECT_EQ(error({view_of(numbers, {12, 2, 2}), 8, two}, {.classes = 2}),
            "YOLO with anchors: expected 2 classes, found 1");
  EXPECT_THAT(error({view_of(numbers, {3, 4, 4}), 8, two}),
              HasSubstr("(2 * (5 + classes), height, width) or (2, height, width, 5 + classes), "
                        "found float32 3x4x4"));
  EXPECT_THAT(error({view_of(numbers, {3, 2, 1, 8}), 8, two}), HasSubstr("3x2x1x8"));
  EXPECT_THAT(error({view_of(numbers, {12, 4}), 8, two}), HasSubstr("12x4"));
  EXPECT_THAT(error({view_of(numbers, {12, 2, 2}), 0, two}), HasSubstr("stride of 1 or more"));
  EXPECT_THAT(error({view_of(numbers, {12, 2, 2}), 8, {}}), HasSubstr("one anchor or more"));
  EXPECT_THAT(decode_anchors({}, AnchorCoding::kV3, {}).error(), HasSubstr("one level or more"));
  const std::vector<AnchorLevel> unlike = {{view_of(numbers, {12, 2, 2}), 8, two},
                                           {view_of(numbers, {16, 3, 1}), 8, two}};
  EXPECT_THAT(decode_anchors(unlike, AnchorCoding::kV3, {}).error(), HasSubstr("1 and 3"));
}

TEST(Distributions, AreThePapers) {
  Golden heads[] = {Golden("distributions.8"), Golden("distributions.16"),
                    Golden("distributions.32")};
  std::vector<DistributionLevel> levels;
  for (int i = 0; i < 3; ++i) levels.push_back({heads[i].view(), 8 << i});
  expect_boxes(decode_distributions(levels, golden_options()), "distributions.boxes");
}

// A distance of which one bin has all the weight; and logits that are infinite or NaN.
TEST(Distributions, OfOneBin) {
  std::vector<float> head(4 * 2 + 1);
  for (size_t side = 0; side < 4; ++side) head[2 * side + 1] = side < 2 ? 100 : -100;
  head[8] = 3;
  const auto decode = [&] {
    const DistributionLevel level{view_of(head, {9, 1, 1}), 10};
    return decode_distributions(std::span(&level, 1), {}, 2);
  };
  auto boxes = decode();
  ASSERT_TRUE(boxes) << boxes.error();
  ASSERT_THAT(*boxes, SizeIs(1));
  EXPECT_FLOAT_EQ(boxes->front().left, -5);
  EXPECT_FLOAT_EQ(boxes->front().right, 5);
  EXPECT_FLOAT_EQ(boxes->front().score, 1 / (1 + std::exp(-3.0F)));
  head[0] = NAN;
  EXPECT_THAT(*decode(), SizeIs(0));
  head[0] = INFINITY;
  EXPECT_THAT(*decode(), SizeIs(0));
}

TEST(Distributions, AreRefusedWhereTheyDoNotFit) {
  const std::vector<float> numbers(64 * 4);
  const auto error = [&](const Shape& shape, int stride, int64_t bins = 16) {
    const DistributionLevel level{view_of(numbers, shape), stride};
    return decode_distributions(std::span(&level, 1), {}, bins).error();
  };
  EXPECT_EQ(error({64, 2, 2}, 8),
            "YOLO with distributions: expected a head of shape (4 * 16 + classes, height, width), "
            "found float32 64x2x2");
  EXPECT_THAT(error({128, 2}, 8), HasSubstr("128x2"));
  EXPECT_THAT(error({128, 2, 1}, -1), HasSubstr("stride"));
  EXPECT_THAT(error({128, 2, 1}, 8, 0), HasSubstr("1 bin or more"));
  EXPECT_THAT(decode_distributions({}, {}).error(), HasSubstr("one level or more"));
}

}  // namespace
}  // namespace tenon::serve
