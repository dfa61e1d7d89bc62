#include "tenon/serve/letterbox.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

namespace tenon::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Letterbox, CentredIsByTensorRtPros) {
  const auto box = Letterbox::centred(1920, 1080, 640, 640);
  ASSERT_TRUE(box) << box.error();
  const auto near = [](float value) { return FloatNear(value, 2e-4F); };
  EXPECT_THAT(box->i2d, ElementsAre(near(1 / 3.F), near(0), near(-1 / 3.F), near(0), near(1 / 3.F),
                                    near(139.66667F)));
  EXPECT_THAT(box->d2i, ElementsAre(near(3), near(0), near(1), near(0), near(3), near(-419)));
  EXPECT_EQ(box->inner_width, 0);
}

// round(), of halves to even numbers, is Python's: 320.5 rows become 320.
TEST(Letterbox, UltralyticsIsOfWholePixels) {
  const auto box = Letterbox::ultralytics(1920, 1080, 640, 640);
  ASSERT_TRUE(box) << box.error();
  EXPECT_EQ(box->inner_width, 640);
  EXPECT_EQ(box->inner_height, 360);
  EXPECT_EQ(box->left, 0);
  EXPECT_EQ(box->top, 140);
  EXPECT_THAT(box->d2i, ElementsAre(3, 0, 0, 0, 3, -420));
  EXPECT_EQ(Letterbox::ultralytics(640, 633, 640, 640)->top, 3);  // round(3.5 - 0.1)
  EXPECT_EQ(Letterbox::ultralytics(1280, 641, 640, 640)->inner_height, 320);
  EXPECT_EQ(Letterbox::ultralytics(100, 50, 640, 640, {.scales_up = false})->inner_width, 100);
  EXPECT_EQ(Letterbox::ultralytics(100, 50, 640, 640, {.is_centred = false})->top, 0);
  EXPECT_EQ(Letterbox::ultralytics(100000, 1, 640, 640)->inner_height, 1);
}

TEST(Letterbox, ExtentsAreChecked) {
  EXPECT_THAT(Letterbox::centred(0, 5, 640, 640).error(), HasSubstr("the image is 0x5 pixels"));
  EXPECT_THAT(Letterbox::ultralytics(5, 5, 640, -1).error(),
              HasSubstr("the network's input is 640x-1 pixels"));
}

TEST(Similarity, FindsTheTurnScaleAndShift) {
  const Point points[] = {{1, 2}, {5, -3}, {7, 8}};
  const Matrix23 wanted = {1.5F, -0.5F, 10, 0.5F, 1.5F, -20};
  Point to[3];
  for (size_t i = 0; i < 3; ++i) to[i] = mapped(wanted, points[i]);
  const auto found = similarity(points, to);
  ASSERT_TRUE(found) << found.error();
  EXPECT_THAT(*found, ::testing::Pointwise(FloatNear(1e-5F), wanted));
}

TEST(Similarity, PointsAreChecked) {
  const Point two[] = {{0, 0}, {1, 1}}, three[] = {{0, 0}, {1, 1}, {2, 2}};
  const Point same[] = {{4, 4}, {4, 4}}, bad[] = {{0, kNan}, {1, 1}};
  EXPECT_THAT(similarity(two, three).error(), HasSubstr("found 2 and 3"));
  EXPECT_FALSE(similarity({two, 1}, {two, 1}));
  EXPECT_THAT(similarity(same, two).error(), HasSubstr("all the same"));
  EXPECT_THAT(similarity(two, same).error(), HasSubstr("all the same"));
  EXPECT_THAT(similarity(bad, two).error(), HasSubstr("not finite"));
  EXPECT_THAT(arcface_matrix(kArcFaceLandmarks, 0).error(), HasSubstr("0x0 pixels"));
  EXPECT_THAT(*arcface_matrix(kArcFaceLandmarks),
              ::testing::Pointwise(FloatNear(1e-4F), Matrix23{1, 0, 0, 0, 1, 0}));
}

}  // namespace
}  // namespace tenon::serve
