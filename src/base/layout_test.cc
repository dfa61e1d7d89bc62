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

TEST(Layout, BlocksThatDoNotFitAreErrors) {
  EXPECT_EQ(storage_elements({0, INT64_MAX, 1, 1}, Layout::kBlocked8), 0);
  EXPECT_THROW(storage_elements({1, INT64_MAX, 1, 1}, Layout::kBlocked8), Error);
}

}  // namespace
}  // namespace tenon
