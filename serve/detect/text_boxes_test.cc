#include "tenon/serve/text_boxes.h"

#include <gmock/gmock.h>

#include <cmath>

#include "goldens.h"

namespace tenon::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A map of halves with upright and rotated parts, one at the edge, one with a hole, one too weak
// and one too small; and OpenCV's contours and rectangles.
TEST(TextBoxes, AreThePapers) {
  Golden map("text_boxes.map"), expected("text_boxes.boxes");
  TextBoxOptions options;
  options.to_picture = {2, 0, 1, 0, 2, 1};
  options.width = 180;
  options.height = 120;
  const auto boxes = decode_text_boxes(map.view(), options);
  ASSERT_TRUE(boxes) << boxes.error();
  ASSERT_EQ(static_cast<int64_t>(boxes->size()), expected.rows());
  for (int64_t i = 0; i < expected.rows(); ++i) {
    SCOPED_TRACE("box " + std::to_string(i));
    const TextBox& box = (*boxes)[static_cast<size_t>(i)];
    for (int64_t k = 0; k < 4; ++k) {
      EXPECT_NEAR(box.corners[static_cast<size_t>(k)].x, expected.at(i, 2 * k), 0.02F);
      EXPECT_NEAR(box.corners[static_cast<size_t>(k)].y, expected.at(i, 2 * k + 1), 0.02F);
    }
    EXPECT_NEAR(box.score, expected.at(i, 8), 1e-3F);
  }
}

std::vector<float> map_with(int64_t width, int64_t height, const std::vector<Box>& parts) {
  std::vector<float> map(static_cast<size_t>(width * height), 0.1F);
  for (const Box& part : parts)
    for (auto y = static_cast<int64_t>(part.top); y < static_cast<int64_t>(part.bottom); ++y)
      for (auto x = static_cast<int64_t>(part.left); x < static_cast<int64_t>(part.right); ++x)
        map[static_cast<size_t>(y * width + x)] = 0.9F;
  return map;
}

// 11 x 5 pixels have middles that are 10 x 4 apart, which grow by 10 * 4 * 1.5 / 28.
TEST(TextBoxes, GrowByTheirAreaAndPerimeter) {
  const auto map = map_with(40, 30, {{10, 12, 21, 17}});
  const auto boxes = decode_text_boxes(view_of(map, {1, 30, 40}), {});
  ASSERT_TRUE(boxes) << boxes.error();
  ASSERT_THAT(*boxes, SizeIs(1));
  const float margin = 60.0F / 28;
  EXPECT_NEAR(boxes->front().corners[0].x, 10 - margin, 1e-4F);
  EXPECT_NEAR(boxes->front().corners[0].y, 12 - margin, 1e-4F);
  EXPECT_NEAR(boxes->front().corners[2].x, 20 + margin, 1e-4F);
  EXPECT_NEAR(boxes->front().corners[2].y, 16 + margin, 1e-4F);
  EXPECT_NEAR(boxes->front().score, 0.9F, 1e-6F);
}

TEST(TextBoxes, ComeInReadingOrder) {
  const auto map =
      map_with(80, 60, {{50, 5, 70, 10}, {5, 8, 25, 13}, {30, 40, 60, 50}, {5, 25, 20, 31}});
  TextBoxOptions options;
  auto boxes = decode_text_boxes(view_of(map, {60, 80}), options);
  ASSERT_THAT(*boxes, SizeIs(4));
  EXPECT_LT((*boxes)[0].corners[0].x, 10);
  EXPECT_GT((*boxes)[1].corners[0].x, 40);
  EXPECT_LT((*boxes)[2].corners[0].x, 10);
  options.max_boxes = 1;  // of the largest
  boxes = decode_text_boxes(view_of(map, {60, 80}), options);
  ASSERT_THAT(*boxes, SizeIs(1));
  EXPECT_GT((*boxes)[0].corners[0].y, 30);
}

// Arms that meet only further down, at a corner in one place, and a ring around a part of its own.
TEST(TextBoxes, AreOfWhatIsConnected) {
  const std::vector<std::string> rows = {
      "#..#..#..#...........",  //
      "#..#..#..#..########.",  //
      "#..#..#..#..#......#.",  //
      "#..#..#..#..#.####.#.",  //
      ".##.##.##...#.####.#.",  //
      "............#.####.#.",  //
      "............#......#.",  //
      "............########.",  //
  };
  std::vector<float> map;
  for (const std::string& row : rows)
    for (const char c : row) map.push_back(c == '#' ? 0.9F : 0.1F);
  TextBoxOptions options{.score_threshold = 0, .unclip_ratio = 0, .min_side = 0};
  const auto boxes = decode_text_boxes(view_of(map, {8, 21}), options);
  ASSERT_TRUE(boxes) << boxes.error();
  ASSERT_THAT(*boxes, SizeIs(3));
  const auto edges = [&](size_t i) {
    const auto& c = (*boxes)[i].corners;
    return std::vector<float>{c[0].x, c[0].y, c[2].x, c[2].y};
  };
  EXPECT_EQ(edges(0), (std::vector<float>{0, 0, 9, 4}));
  EXPECT_EQ(edges(1), (std::vector<float>{12, 1, 19, 7}));
  EXPECT_EQ(edges(2), (std::vector<float>{14, 3, 17, 5}));
}

TEST(TextBoxes, OfMapsWithoutText) {
  for (const float value : {0.0F, NAN, -INFINITY}) {
    const std::vector<float> map(64, value);
    EXPECT_THAT(*decode_text_boxes(view_of(map, {8, 8}), {}), IsEmpty());
  }
  // Points and lines are no boxes, however small they may be.
  TextBoxOptions options{.min_side = 0};
  const auto map = map_with(8, 8, {{1, 1, 2, 2}, {4, 1, 5, 7}});
  EXPECT_THAT(*decode_text_boxes(view_of(map, {8, 8}), options), SizeIs(1));
}

// All of it, of infinite numbers: they are a mean, and no box is lost or endless.
TEST(TextBoxes, OfMapsThatAreAllText) {
  const std::vector<float> map(64, INFINITY);
  const auto boxes = decode_text_boxes(view_of(map, {8, 8}), {});
  ASSERT_TRUE(boxes) << boxes.error();
  ASSERT_THAT(*boxes, SizeIs(1));
  EXPECT_TRUE(std::isfinite(boxes->front().corners[2].x));
}

TEST(TextBoxes, AreRefusedWhereTheyDoNotFit) {
  const std::vector<float> map(64);
  const View view = view_of(map, {8, 8});
  EXPECT_EQ(decode_text_boxes(view_of(map, {2, 4, 8}), {}).error(),
            "text boxes: expected a map of shape (height, width) or (1, height, width), found "
            "float32 2x4x8");
  EXPECT_THAT(decode_text_boxes(view_of({}, {0, 8}), {}).error(), HasSubstr("1 to 65536 cells"));
  EXPECT_THAT(decode_text_boxes(view, {.threshold = 2}).error(),
              HasSubstr("expected a threshold from 0 to 1, found 2.0"));
  EXPECT_THAT(decode_text_boxes(view, {.score_threshold = NAN}).error(), HasSubstr("found nan"));
  EXPECT_THAT(decode_text_boxes(view, {.unclip_ratio = -1}).error(), HasSubstr("unclip ratio"));
  EXPECT_THAT(decode_text_boxes(view, {.min_side = NAN}).error(), HasSubstr("a side of 0 or more"));
  EXPECT_THAT(decode_text_boxes(view, {.max_boxes = -1}).error(), HasSubstr("0 to 100000 boxes"));
  EXPECT_THAT(decode_text_boxes(view, {.to_picture = {}}).error(), HasSubstr("inverse"));
  EXPECT_THAT(decode_text_boxes(view, {.width = -1}).error(), HasSubstr("-1x0"));
}

}  // namespace
}  // namespace tenon::serve
