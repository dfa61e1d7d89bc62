#include "cpu/turn_rows.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace tenon::cpu {
namespace {

// Whole tiles, and what is left of them on both sides; beside the rows nothing is written.
TEST(TurnRows, ElementsOfARowLieBesideThoseOfOthers) {
  for (const int64_t rows : {1, 7, 8, 16, 21, 32})
    for (const int64_t count : {0, 1, 5, 8, 63, 64, 65, 144, 147}) {
      const int64_t step = count + 3, width = rows + 2;
      std::vector<float> from(static_cast<size_t>(rows * step));
      std::iota(from.begin(), from.end(), 1.0f);
      std::vector<float> to(static_cast<size_t>(count * width), -1), expected = to;
      for (int64_t k = 0; k < count; ++k)
        for (int64_t r = 0; r < rows; ++r)
          expected[static_cast<size_t>(k * width + r)] = from[static_cast<size_t>(r * step + k)];
      turn_rows(from.data(), step, rows, count, to.data(), width);
      EXPECT_EQ(to, expected) << rows << " rows of " << count;
    }
}

}  // namespace
}  // namespace tenon::cpu
