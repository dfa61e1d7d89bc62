#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/concatenation.h"
#include "ops/constant.h"
#include "ops/fully_connected.h"
#include "ops/matrix_multiply.h"
#include "ops/reduce.h"
#include "ops/resize.h"
#include "ops/shuffle.h"
#include "ops/slice.h"
#include "ops/softmax.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;

TEST(ImplicitBatch, MasksOfAxesMoveByOne) {
  Reduce reduce;
  reduce.axes = 0b101;
  reduce.insert_batch_axis(4);
  EXPECT_EQ(reduce.axes, 0b1010u);
  Softmax softmax;
  softmax.axes = 1u << 31;
  EXPECT_THROW(softmax.insert_batch_axis(4), Error);
}

TEST(ImplicitBatch, AxesCountedFromTheLastStay) {
  Concatenation first, last;
  last.axis = -1;
  first.insert_batch_axis(4);
  last.insert_batch_axis(4);
  EXPECT_EQ(first.axis, 1);
  EXPECT_EQ(last.axis, -1);
  Slice slice;
  slice.start = {2, 3};
  slice.axes = {0, -1};
  slice.insert_batch_axis(4);
  EXPECT_EQ(slice.axes, Shape({1, -1}));
}

TEST(ImplicitBatch, ASliceOfAllAxesNamesThem) {
  Slice slice;
  slice.start = {2, 3};
  slice.insert_batch_axis(4);
  EXPECT_EQ(slice.axes, Shape({1, 2}));
}

TEST(ImplicitBatch, AShuffleKeepsTheBatchInFront) {
  Shuffle shuffle;
  shuffle.first_transpose = {1, 0};
  shuffle.has_reshape = true;
  shuffle.reshape = {6};
  shuffle.insert_batch_axis(4);
  EXPECT_THAT(shuffle.first_transpose, ElementsAre(0, 2, 1));
  EXPECT_TRUE(shuffle.second_transpose.empty());
  EXPECT_EQ(shuffle.reshape, Shape({0, 6}));
}

TEST(ImplicitBatch, AConstantHasOneItem) {
  Constant constant;
  constant.dimensions = {2, 3};
  constant.insert_batch_axis(4);
  EXPECT_EQ(constant.dimensions, Shape({1, 2, 3}));
}

TEST(ImplicitBatch, AResizeNeedsScales) {
  Resize resize;
  EXPECT_THROW(resize.insert_batch_axis(4), Error);
  resize.scales = {2, 2};
  resize.insert_batch_axis(4);
  EXPECT_THAT(resize.scales, ElementsAre(1, 2, 2));
}

TEST(ImplicitBatch, ProductsSayWhichAxesAreTheirOwn) {
  MatrixMultiply product;
  product.operation_b = nvinfer1::MatrixOperation::kVECTOR;
  EXPECT_EQ(product.min_rank(0), 2);
  EXPECT_EQ(product.min_rank(1), 1);
  EXPECT_EQ(product.min_rank(2), 0);
  EXPECT_EQ(FullyConnected().min_rank(0), 3);
}

}  // namespace
}  // namespace tenon
