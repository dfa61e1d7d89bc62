#include "tenon/session/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::session {
namespace {

TEST(Shape, GoesToDimsAndBack) {
  const Shape shape{2, INT64_MAX, INT64_MAX - 1};
  const auto dims = to_dims(shape);
  ASSERT_TRUE(dims);
  EXPECT_EQ(to_shape(*dims), shape);
  EXPECT_EQ(to_shape(nvinfer1::Dims{-1, {}}), Shape{});
  EXPECT_THAT(to_dims(Shape(9, 1)).error(), ::testing::HasSubstr("9 dimensions; at most 8"));
}

TEST(Shape, IsKnownWithoutOpenExtents) {
  EXPECT_TRUE(is_known(Shape{}));
  EXPECT_TRUE(is_known(Shape{0, 3}));
  EXPECT_FALSE(is_known(Shape{2, -1}));
  EXPECT_FALSE(is_known(nvinfer1::Dims{-1, {}}));
  EXPECT_FALSE(is_known(nvinfer1::Dims{1, {-1}}));
}

TEST(Shape, HasATextOfItsOwnAndOfPositions) {
  EXPECT_EQ(shape_text({1, 3, 224}), "1x3x224");
  EXPECT_EQ(shape_text({}), "scalar");
  EXPECT_EQ(position_text({2, 3, 4}, 23), "[1, 2, 3]");
}

}  // namespace
}  // namespace tenon::session
