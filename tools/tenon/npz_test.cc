#include "npz.h"

#include <gtest/gtest.h>

#include "error.h"

namespace tenon::tool {
namespace {

TEST(WriteFile, LeavesNothingWhenItCannot) {
  EXPECT_THROW(write_file("/nonexistent/folder/x.npz", "x", 1), Failure);
  EXPECT_THROW(write_file(::testing::TempDir(), "x", 1), Failure);
}

}  // namespace
}  // namespace tenon::tool
