#include "tenon/serve/matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tenon::serve {
namespace {

TEST(Matrix, MatricesLeadBack) {
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
    const Point there = mapped(*back, mapped(affine, Point{x, y}));
    EXPECT_NEAR(there.x, x, 1e-4F);
    EXPECT_NEAR(there.y, y, 1e-4F);
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

TEST(Matrix, SingularMatricesAreRefused) {
  EXPECT_THAT(inverted(Matrix23{1, 2, 3, 2, 4, 5}).error(),
              ::testing::HasSubstr(
                  "the matrix [1.000000, 2.000000, 3.000000; 2.000000, 4.000000, 5.000000] has "
                  "no inverse"));
  EXPECT_FALSE(inverted(Matrix23{}));
  EXPECT_FALSE(inverted(Matrix23{1, 0, NAN, 0, 1, 0}));
  EXPECT_FALSE(inverted(Matrix23{INFINITY, 0, 0, 0, 1, 0}));
  EXPECT_FALSE(inverted(Matrix33{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_FALSE(inverted(Matrix33{1, 0, 0, 0, 1, 0, 0, 0, NAN}));
  EXPECT_TRUE(inverted(Matrix23{1e-3F, 0, 1e4F, 0, 1e-3F, 1e4F}));
}

}  // namespace
}  // namespace tenon::serve
