#include "base/shape.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tenon {
namespace {

TEST(Shape, VolumeAndStrides) {
  const Shape s{2, 3, 4};
  EXPECT_EQ(s.volume(), 24);
  EXPECT_EQ(s.volume(1, 3), 12);
  EXPECT_EQ(s.strides(), (Shape{12, 4, 1}));
  EXPECT_EQ(Shape().volume(), 1);
  EXPECT_EQ((Shape{5, 0}).volume(), 0);
  const Shape without_elements{0, 3, INT64_MAX};
  EXPECT_EQ(without_elements.volume(), 0);
  EXPECT_EQ(without_elements.strides()[2], 1);
}

TEST(Shape, VolumeThatDoesNotFitIsAnError) {
  const int64_t big = int64_t{1} << 40;
  EXPECT_THROW((Shape{big, big}).volume(), Error);
  EXPECT_EQ((Shape{big, big, 0}).volume(), 0);
  EXPECT_THROW((Shape{2, -1}).volume(), Error);
}

TEST(Shape, RankIsLimited) {
  EXPECT_THROW(Shape({1, 1, 1, 1, 1, 1, 1, 1, 1}), Error);
  Shape s = Shape::filled(8, 2);
  EXPECT_THROW(s.push_back(1), Error);
  nvinfer1::Dims dims{};
  dims.nbDims = -1;
  EXPECT_THROW(Shape{dims}, Error);
}

TEST(Shape, InsertAndErase) {
  Shape s{2, 3};
  s.insert(1, 7);
  EXPECT_EQ(s, (Shape{2, 7, 3}));
  s.erase(0);
  EXPECT_EQ(s, (Shape{7, 3}));
}

TEST(Shape, Text) {
  EXPECT_EQ((Shape{1, 3, 224, 224}).str(), "1x3x224x224");
  EXPECT_EQ(Shape().str(), "scalar");
}

TEST(Shape, NegativeAxesCountFromTheEnd) {
  EXPECT_EQ(normalized_axis(-1, 4), 3);
  EXPECT_EQ(normalized_axis(2, 4), 2);
  EXPECT_THROW(normalized_axis(4, 4), Error);
  EXPECT_THROW(normalized_axis(-5, 4), Error);
}

}  // namespace
}  // namespace tenon
