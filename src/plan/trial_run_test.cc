#include "plan/trial_run.h"

#include <gtest/gtest.h>

#include <array>

namespace tenon {
namespace {

TEST(WrittenRows, ImagesHavePlanesUnlessChannelsLieLast) {
  const auto rows = [](Layout layout, const Shape& shape) {
    Tensor data(DataType::kUINT8,
                {static_cast<int64_t>(storage_bytes(DataType::kFLOAT, shape, layout))});
    const WrittenRows w = written_rows({DataType::kFLOAT, layout, shape, true}, data);
    return std::array<int64_t, 3>{w.images, w.planes, static_cast<int64_t>(w.plane_bytes)};
  };
  using Rows = std::array<int64_t, 3>;
  EXPECT_EQ(rows(Layout::kLinear, {2, 20, 3, 5}), Rows({2, 20, 3 * 5 * 4}));
  EXPECT_EQ(rows(Layout::kBlocked8, {2, 20, 3, 5}), Rows({2, 3, 3 * 5 * 8 * 4}));
  EXPECT_EQ(rows(Layout::kBlocked16, {1, 20, 3, 5}), Rows({1, 2, 3 * 5 * 16 * 4}));
  EXPECT_EQ(rows(Layout::kChannelsLast, {2, 20, 3, 5}), Rows({2, 1, 20 * 3 * 5 * 4}));
  EXPECT_EQ(rows(Layout::kLinear, {2, 3, 4, 5, 6}), Rows({2, 3, 4 * 5 * 6 * 4}));
  EXPECT_EQ(rows(Layout::kLinear, {2, 3, 4}), Rows({1, 1, 2 * 3 * 4 * 4}));
  EXPECT_EQ(rows(Layout::kLinear, {7, 9}), Rows({1, 1, 7 * 9 * 4}));
  EXPECT_EQ(rows(Layout::kLinear, {}), Rows({1, 1, 4}));
  EXPECT_EQ(rows(Layout::kLinear, {0, 3, 4, 4})[2], 0);
  EXPECT_EQ(rows(Layout::kLinear, {2, 3, 0, 4}), Rows({2, 3, 0}));
}

}  // namespace
}  // namespace tenon
