#include "common/coalesced_axes.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(CoalescedAxes, AreAxesWithACommonStep) {
  const CoalescedAxes dense = coalesced_axes({2, 3, 4}, {12, 4, 1});
  EXPECT_EQ(dense.extents, (Shape{24}));
  EXPECT_EQ(dense.strides, (Shape{1}));
  const CoalescedAxes rows = coalesced_axes({2, 3, 4}, {24, 8, 1}, 2);
  EXPECT_EQ(rows.extents, (Shape{6, 4}));
  EXPECT_EQ(rows.strides, (Shape{16, 2}));
  const CoalescedAxes transposed = coalesced_axes({4, 3}, {1, 4});
  EXPECT_EQ(transposed.extents, (Shape{4, 3}));
  EXPECT_EQ(transposed.strides, (Shape{1, 4}));
}

TEST(CoalescedAxes, AreRepeatedAxes) {
  const CoalescedAxes repeated = coalesced_axes({2, 3, 4}, {0, 0, 1});
  EXPECT_EQ(repeated.extents, (Shape{6, 4}));
  EXPECT_EQ(repeated.strides, (Shape{0, 1}));
}

TEST(CoalescedAxes, LeaveOutAxesOfOneElement) {
  const CoalescedAxes joined = coalesced_axes({1, 5, 1, 4}, {7, 4, 9, 1});
  EXPECT_EQ(joined.extents, (Shape{20}));
  EXPECT_EQ(joined.strides, (Shape{1}));
}

TEST(CoalescedAxes, AreOneWithoutElementsWhateverOthersAre) {
  const CoalescedAxes none = coalesced_axes({int64_t{1} << 61, 0, int64_t{1} << 60}, {1, 7, 16}, 4);
  EXPECT_EQ(none.extents, (Shape{0}));
  EXPECT_EQ(none.strides, (Shape{4}));
}

TEST(CoalescedAxes, AreAtLeastOne) {
  const CoalescedAxes one = coalesced_axes({1, 1}, {3, 0}, 4);
  EXPECT_EQ(one.extents, (Shape{1}));
  EXPECT_EQ(one.strides, (Shape{4}));
}

}  // namespace
}  // namespace tenon
