#include "base/layout.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tenon {
namespace {

TEST(Layout, BlocksPadChannels) {
  EXPECT_EQ(storage_elements({2, 3, 4, 5}, Layout::kLinear), 120);
  EXPECT_EQ(storage_elements({2, 3, 4, 5}, Layout::kBlocked8), 320);
  EXPECT_EQ(storage_elements({2, 16, 4, 5}, Layout::kBlocked16), 640);
}

TEST(Layout, ThatIsNotKnownHasNoName) {
  EXPECT_EQ(name_of(static_cast<Layout>(200)), "?");
  EXPECT_EQ(channel_block(static_cast<Layout>(200)), 1);
}

TEST(Layout, ChannelsLastArePaddedToo) {
  EXPECT_EQ(storage_elements({2, 3, 4, 5}, Layout::kChannelsLast), 120);
  EXPECT_EQ(storage_elements({2, 3, 4, 5}, Layout::kChannelsLast8), 320);
  EXPECT_EQ(storage_elements({2, 17, 4, 5}, Layout::kChannelsLast16), 1280);
}

// As TensorRT counts strides: in vectors of channels.
TEST(Layout, StridesSkipGroups) {
  EXPECT_EQ(strides_of({2, 3, 4, 5}, Layout::kLinear), Shape({60, 20, 5, 1}));
  EXPECT_EQ(strides_of({2, 3, 4, 5}, Layout::kChannelsLast), Shape({60, 1, 15, 3}));
  EXPECT_EQ(strides_of({2, 20, 4, 5}, Layout::kChannelsLast8), Shape({60, 1, 15, 3}));
  EXPECT_EQ(strides_of({2, 5, 4, 5}, Layout::kBlocked4), Shape({40, 20, 5, 1}));
  EXPECT_EQ(strides_of({2, -1, 4, 5}, Layout::kLinear), Shape({-1, 20, 5, 1}));
  EXPECT_EQ(strides_of({2, 3, -1, 5}, Layout::kChannelsLast), Shape({-1, 1, 15, 3}));
}

TEST(Layout, UnbatchedTensorsBeginWithChannels) {
  EXPECT_EQ(storage_elements({3, 4, 5}, Layout::kUnbatchedChannelsLast), 60);
  EXPECT_EQ(storage_elements({3, 4, 5}, Layout::kUnbatchedBlocked2), 80);
  EXPECT_EQ(storage_elements({3, 4, 5}, Layout::kUnbatchedBlocked32), 640);
  EXPECT_EQ(storage_elements({3, 4, 5}, Layout::kUnbatchedChannelsLast8), 160);
  EXPECT_EQ(strides_of({3, 4, 5}, Layout::kUnbatchedChannelsLast), Shape({1, 15, 3}));
  EXPECT_EQ(strides_of({20, 4, 5}, Layout::kUnbatchedChannelsLast16), Shape({1, 10, 2}));
  EXPECT_EQ(strides_of({5, 4, 5}, Layout::kUnbatchedBlocked4), Shape({20, 5, 1}));
  EXPECT_EQ(channel_axis(Layout::kLinear, Layout::kUnbatchedBlocked4), 0);
  EXPECT_EQ(channel_axis(Layout::kUnbatchedBlocked4, Layout::kLinear), 0);
  EXPECT_EQ(channel_axis(Layout::kBlocked4, Layout::kChannelsLast), 1);
  EXPECT_THROW(channel_axis(Layout::kBlocked4, Layout::kUnbatchedBlocked4), Error);
}

TEST(Layout, BlocksThatDoNotFitAreErrors) {
  EXPECT_EQ(storage_elements({0, INT64_MAX, 1, 1}, Layout::kBlocked8), 0);
  EXPECT_THROW(storage_elements({1, INT64_MAX, 1, 1}, Layout::kBlocked8), Error);
}

}  // namespace
}  // namespace tenon
