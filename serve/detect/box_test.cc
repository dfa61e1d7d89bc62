#include "tenon/serve/box.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "property_seed.h"

namespace tenon::serve {
namespace {

constexpr float kPi = std::numbers::pi_v<float>;

TEST(Box, IsMappedByItsCorners) {
  // Twice as large and a quarter turn: (x, y) becomes (-2 y + 10, 2 x + 1).
  const Matrix23 matrix = {0, -2, 10, 2, 0, 1};
  const Box box = mapped(matrix, Box{1, 2, 3, 5, 0.5F, 7, 9});
  EXPECT_EQ(box.left, 0);
  EXPECT_EQ(box.right, 6);
  EXPECT_EQ(box.top, 3);
  EXPECT_EQ(box.bottom, 7);
  EXPECT_EQ(box.score, 0.5F);
  EXPECT_EQ(box.class_label, 7);
  EXPECT_EQ(box.index, 9);
}

TEST(Box, IsClippedToThePicture) {
  const Box box = clipped(Box{-5, 3, 200, 60}, 100, 50);
  EXPECT_EQ(box.left, 0);
  EXPECT_EQ(box.top, 3);
  EXPECT_EQ(box.right, 100);
  EXPECT_EQ(box.bottom, 50);
  const Box outside = clipped(Box{110, 60, 120, 70}, 100, 50);
  EXPECT_EQ(outside.left, 100);
  EXPECT_EQ(outside.right, 100);
}

void expect_same_points(const std::array<Point, 4>& a, const std::array<Point, 4>& b) {
  for (const Point& p : a) {
    float nearest = INFINITY;
    for (const Point& q : b) nearest = std::min(nearest, std::hypot(p.x - q.x, p.y - q.y));
    EXPECT_LT(nearest, 1e-3F) << p.x << ", " << p.y;
  }
}

TEST(RotatedBox, HasCornersClockwiseFromTheUpperLeft) {
  const auto upright = corners(RotatedBox{.x = 10, .y = 20, .width = 4, .height = 2});
  EXPECT_FLOAT_EQ(upright[0].x, 8);
  EXPECT_FLOAT_EQ(upright[0].y, 19);
  EXPECT_FLOAT_EQ(upright[1].x, 12);
  EXPECT_FLOAT_EQ(upright[1].y, 19);
  EXPECT_FLOAT_EQ(upright[2].y, 21);
  // The side of `width` points down after a quarter turn.
  const auto turned = corners({.x = 10, .y = 20, .width = 4, .height = 2, .angle = kPi / 2});
  EXPECT_NEAR(turned[0].x, 11, 1e-5F);
  EXPECT_NEAR(turned[0].y, 18, 1e-5F);
  EXPECT_NEAR(turned[1].x, 11, 1e-5F);
  EXPECT_NEAR(turned[1].y, 22, 1e-5F);
}

TEST(RotatedBox, MappedCornersAreCornersOfTheMappedBox) {
  const uint32_t seed = property_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(-3, 3);
  for (int i = 0; i < 100; ++i) {
    const RotatedBox box{.x = number(random),
                         .y = number(random),
                         .width = 1 + std::abs(number(random)),
                         .height = 1 + std::abs(number(random)),
                         .angle = number(random)};
    const float angle = number(random), scale = 1.5F, mirror = i % 2 == 0 ? 1.0F : -1.0F;
    const float c = scale * std::cos(angle), s = scale * std::sin(angle);
    const Matrix23 matrix = {c, -s * mirror, number(random), s, c * mirror, number(random)};
    auto wanted = corners(box);
    for (Point& point : wanted) point = mapped(matrix, point);
    expect_same_points(corners(mapped(matrix, box)), wanted);
  }
}

TEST(RotatedBox, RegularizedIsTheSameRectangle) {
  for (const float angle :
       {-0.3F, 0.0F, 0.4F, kPi / 2, 1.9F, 3.0F, kPi, 5.0F, -7.0F, 1e-9F, -1e-9F}) {
    const RotatedBox box{.x = 1, .y = 2, .width = 5, .height = 3, .angle = angle};
    const RotatedBox regular = regularized(box);
    EXPECT_GE(regular.angle, 0) << angle;
    EXPECT_LT(regular.angle, kPi / 2) << angle;
    expect_same_points(corners(regular), corners(box));
  }
}

}  // namespace
}  // namespace tenon::serve
