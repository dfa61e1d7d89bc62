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

TEST(Letterbox, MatricesLeadBack) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(-2, 2);
  for (int round = 0; round < 100; ++round) {
    Matrix23 affine;
    for (float& element : affine) element = number(random);
    affine[0] += affine[0] < 0 ? -5.F : 5.F;
    affine[4] += affine[4] < 0 ? -5.F : 5.F;
    const auto back = inverted(affine);
    ASSERT_TRUE(back) << back.error();
    const float x = number(random), y = number(random);
    const float u = affine[0] * x + affine[1] * y + affine[2];
    const float v = affine[3] * x + affine[4] * y + affine[5];
    EXPECT_NEAR((*back)[0] * u + (*back)[1] * v + (*back)[2], x, 1e-4F);
    EXPECT_NEAR((*back)[3] * u + (*back)[4] * v + (*back)[5], y, 1e-4F);
    const Matrix33 full = {affine[0], affine[1], affine[2], affine[3], affine[4],
                           affine[5], 0.125F,    -0.25F,    4};
    const auto whole = inverted(full);
    ASSERT_TRUE(whole) << whole.error();
    for (size_t i = 0; i < 9; ++i) {
      float sum = 0;
      for (size_t k = 0; k < 3; ++k) sum += full[i / 3 * 3 + k] * (*whole)[k * 3 + i % 3];
      EXPECT_NEAR(sum, i % 4 == 0 ? 1 : 0, 1e-4F);
    }
  }
}

TEST(Letterbox, SingularMatricesAreRefused) {
  EXPECT_THAT(
      inverted(Matrix23{1, 2, 3, 2, 4, 5}).error(),
      HasSubstr("the matrix [1.000000, 2.000000, 3.000000; 2.000000, 4.000000, 5.000000] has "
                "no inverse"));
  EXPECT_FALSE(inverted(Matrix23{}));
  EXPECT_FALSE(inverted(Matrix23{1, 0, kNan, 0, 1, 0}));
  EXPECT_FALSE(inverted(Matrix23{INFINITY, 0, 0, 0, 1, 0}));
  EXPECT_FALSE(inverted(Matrix33{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_FALSE(inverted(Matrix33{1, 0, 0, 0, 1, 0, 0, 0, kNan}));
  EXPECT_TRUE(inverted(Matrix23{1e-3F, 0, 1e4F, 0, 1e-3F, 1e4F}));
}

TEST(Similarity, FindsTheTurnScaleAndShift) {
  const float points[] = {1, 2, 5, -3, 7, 8};
  const Matrix23 wanted = {1.5F, -0.5F, 10, 0.5F, 1.5F, -20};
  float to[6];
  for (size_t i = 0; i < 6; i += 2) {
    to[i] = wanted[0] * points[i] + wanted[1] * points[i + 1] + wanted[2];
    to[i + 1] = wanted[3] * points[i] + wanted[4] * points[i + 1] + wanted[5];
  }
  const auto found = similarity(points, to);
  ASSERT_TRUE(found) << found.error();
  EXPECT_THAT(*found, ::testing::Pointwise(FloatNear(1e-5F), wanted));
}

TEST(Similarity, PointsAreChecked) {
  const float two[] = {0, 0, 1, 1}, three[] = {0, 0, 1, 1, 2, 2}, same[] = {4, 4, 4, 4};
  const float bad[] = {0, kNan, 1, 1};
  EXPECT_THAT(similarity(two, three).error(), HasSubstr("found 4 and 6 numbers"));
  EXPECT_FALSE(similarity({two, 2}, {two, 2}));
  EXPECT_FALSE(similarity({two, 3}, {two, 3}));
  EXPECT_THAT(similarity(same, two).error(), HasSubstr("all the same"));
  EXPECT_THAT(similarity(two, same).error(), HasSubstr("all the same"));
  EXPECT_THAT(similarity(bad, two).error(), HasSubstr("not finite"));
  EXPECT_THAT(arcface_matrix(kArcFaceLandmarks, 0).error(), HasSubstr("0x0 pixels"));
  EXPECT_THAT(*arcface_matrix(kArcFaceLandmarks),
              ::testing::Pointwise(FloatNear(1e-4F), Matrix23{1, 0, 0, 0, 1, 0}));
}

}  // namespace
}  // namespace tenon::serve
