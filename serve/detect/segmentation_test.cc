#include "tenon/serve/segmentation.h"

#include <gmock/gmock.h>

#include <cmath>

#include "goldens.h"

namespace tenon::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SegmentationOptions golden_segmentation(ScoreResize resize) {
  return {.input_width = kGoldenInput,
          .input_height = kGoldenInput,
          .width = kGoldenWidth,
          .height = kGoldenHeight,
          .to_picture = golden_options().to_picture,
          .resize = resize};
}

void expect_labels(const Result<ClassMap>& map, const std::string& name) {
  Golden golden(name);
  const auto expected = golden.elements<uint8_t>();
  ASSERT_TRUE(map) << map.error();
  ASSERT_EQ(map->labels.size(), expected.size());
  size_t differ = 0, decided = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == 255) continue;  // rounding alone decides
    ++decided;
    differ += static_cast<size_t>(map->labels[i] != expected[i]);
  }
  EXPECT_EQ(differ, 0u);
  EXPECT_GT(decided, expected.size() * 9 / 10);
}

TEST(Segmentation, OfTheNearestCells) {
  Golden scores("segmentation.scores");
  expect_labels(decode_segmentation(scores.view(), golden_segmentation(ScoreResize::kNearest)),
                "segmentation.nearest");
}

TEST(Segmentation, OfInterpolatedScores) {
  Golden scores("segmentation.scores");
  expect_labels(decode_segmentation(scores.view(), golden_segmentation(ScoreResize::kBilinear)),
                "segmentation.bilinear");
}

TEST(Segmentation, TakesChannelsLast) {
  Golden scores("segmentation.last");
  for (const ScoreResize resize : {ScoreResize::kNearest, ScoreResize::kBilinear}) {
    SegmentationOptions options = golden_segmentation(resize);
    options.channels_last = true;
    expect_labels(decode_segmentation(scores.view(), options), resize == ScoreResize::kNearest
                                                                   ? "segmentation.nearest"
                                                                   : "segmentation.bilinear");
  }
}

// Of equal scores the lowest class, NaNs are none, and -infinity is a score.
TEST(Segmentation, OfSpecialScores) {
  const std::vector<float> scores = {1, NAN, NAN, -INFINITY, 1, 2, NAN, -INFINITY};
  SegmentationOptions options{.input_width = 4, .input_height = 1, .width = 4, .height = 1};
  for (const ScoreResize resize : {ScoreResize::kNearest, ScoreResize::kBilinear}) {
    options.resize = resize;
    const auto map = decode_segmentation(view_of(scores, {2, 1, 4}), options);
    ASSERT_TRUE(map) << map.error();
    EXPECT_THAT(map->labels, ElementsAre(0, 1, ClassMap::kNone, 0));
  }
}

TEST(Segmentation, IsRefusedWhereItDoesNotFit) {
  const std::vector<float> scores(24);
  const SegmentationOptions usual{.input_width = 4, .input_height = 4, .width = 4, .height = 4};
  const auto error = [&](const Shape& shape, SegmentationOptions options) {
    return decode_segmentation(view_of(scores, shape), options).error();
  };
  EXPECT_EQ(error({6, 4}, usual),
            "segmentation: expected scores of shape (classes, height, width) with 2 to 65534 "
            "classes, found float32 6x4");
  EXPECT_THAT(error({1, 6, 4}, usual), HasSubstr("1x6x4"));
  auto options = usual;
  options.channels_last = true;
  EXPECT_THAT(error({6, 4, 1}, options), HasSubstr("(height, width, classes)"));
  options = usual;
  options.classes = 21;
  EXPECT_THAT(error({6, 2, 2}, options), HasSubstr("expected 21 classes, found 6"));
  options = usual;
  options.input_width = 0;
  EXPECT_THAT(error({6, 2, 2}, options), HasSubstr("0x4"));
  options = usual;
  options.width = 0;
  EXPECT_THAT(error({6, 2, 2}, options), HasSubstr("a picture of 1 to 65536 pixels"));
  options = usual;
  options.to_picture = {1, 1, 0, 1, 1, 0};
  EXPECT_THAT(error({6, 2, 2}, options), HasSubstr("inverse"));
  EXPECT_THAT(decode_segmentation(view_of({}, {2, 0, 4}), usual).error(), HasSubstr("cells"));
}

}  // namespace
}  // namespace tenon::serve
