#include "cuda/pointwise/iteration.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace tenon::cuda {
namespace {

using ::testing::ElementsAre;

TEST(IterationSourceTest, AxesThatContinueEachOtherAreOne) {
  const OperandView out{{2, 3, 4, 5}}, same = out, channel{{1, 3, 1, 1}};
  const auto dense = iterations(std::vector{out, same});
  ASSERT_EQ(dense.size(), 1u);
  EXPECT_EQ(dense[0].extents, (Shape{120}));
  const auto loops = iterations(std::vector{out, channel});
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].extents, (Shape{2, 3, 20}));
  EXPECT_THAT(loops[0].strides, ElementsAre(Shape{60, 20, 1}, Shape{0, 1, 0}));
}

TEST(IterationSourceTest, ChannelsLieInnermost) {
  const OperandView out{{2, 3, 4, 5}, Layout::kChannelsLast}, channel{{1, 3, 1, 1}},
      rows{{2, 3, 4, 5}};
  const auto loops = iterations(std::vector{out, channel, rows});
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].extents, (Shape{2, 20, 3}));
  EXPECT_THAT(loops[0].strides, ElementsAre(Shape{60, 3, 1}, Shape{0, 0, 1}, Shape{60, 1, 20}));
}

TEST(IterationSourceTest, BlocksThatDivideAnAxisSplitIt) {
  const OperandView out{{2, 8}}, scale{{2, 2}, Layout::kLinear, {1, 4}};
  const auto loops = iterations(std::vector{out, scale});
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].extents, (Shape{4, 4}));
  EXPECT_THAT(loops[0].strides, ElementsAre(Shape{4, 1}, Shape{1, 0}));
}

TEST(IterationSourceTest, WhatIsLeftOfABlockIsALoopOfItsOwn) {
  const OperandView out{{2, 7}}, scale{{2, 2}, Layout::kLinear, {1, 4}};
  const auto loops = iterations(std::vector{out, scale});
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].extents, (Shape{2, 3}));
  EXPECT_THAT(loops[0].offsets, ElementsAre(4, 1));
  EXPECT_EQ(loops[1].extents, (Shape{2, 4}));
  EXPECT_THAT(loops[1].strides, ElementsAre(Shape{7, 1}, Shape{2, 0}));
}

TEST(IterationSourceTest, NothingToDo) {
  const OperandView out{{2, 0, 3}};
  EXPECT_TRUE(iterations(std::vector{out}).empty());
  const auto scalar = iterations(std::vector{OperandView{}, OperandView{}});
  ASSERT_EQ(scalar.size(), 1u);
  EXPECT_EQ(scalar[0].extents, (Shape{1}));
}

TEST(IterationSourceTest, OperandsThatDoNotFitAreRefused) {
  EXPECT_THROW(iterations(std::vector{OperandView{{2, 3}}, OperandView{{2, 2}}}), Error);
}

TEST(IterationSourceTest, HalvesCoverTheWhole) {
  const Iteration whole{{100, 3}, {{3, 1}, {0, 1}}, {0, 7}};
  const auto two = halves(whole);
  EXPECT_EQ(two[0].extents, (Shape{48, 3}));
  EXPECT_EQ(two[1].extents, (Shape{52, 3}));
  EXPECT_THAT(two[1].offsets, ElementsAre(144, 7));
}

}  // namespace
}  // namespace tenon::cuda
