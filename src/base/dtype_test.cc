#include "base/dtype.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/half.h"
#include "base/layout.h"

namespace tenon {
namespace {

TEST(DataType, NamesAndSizes) {
  EXPECT_EQ(name_of(DataType::kHALF), "float16");
  EXPECT_EQ(bytes_of(DataType::kINT4, 3), 2u);  // two to a byte, the last padded
  EXPECT_EQ(bytes_of(DataType::kBF16, 3), 6u);
  EXPECT_THROW(name_of(static_cast<DataType>(99)), Error);
}

// The standard's rule, on values half way between two bfloat16 numbers.
TEST(BFloat16, RoundsToNearestEven) {
  EXPECT_EQ(BFloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(BFloat16(1.00390625f).bits, 0x3f80);  // tie, down to even
  EXPECT_EQ(BFloat16(1.01171875f).bits, 0x3f82);  // tie, up to even
  EXPECT_EQ(BFloat16(3.4e38f).bits, 0x7f80);      // overflows to infinity
  const auto nan = static_cast<float>(BFloat16(std::bit_cast<float>(0x7f800001u)));
  EXPECT_NE(nan, nan);
  EXPECT_EQ(static_cast<float>(BFloat16(-2.5f)), -2.5f);
}

TEST(Layout, BlocksPadTheChannels) {
  const Shape s{2, 3, 4, 5};
  EXPECT_EQ(storage_elements(s, Layout::kLinear), 120);
  EXPECT_EQ(storage_elements(s, Layout::kChannelsLast), 120);
  EXPECT_EQ(storage_elements(s, Layout::kBlocked8), 320);
  EXPECT_EQ(storage_bytes(DataType::kHALF, s, Layout::kBlocked16), 1280u);
}

}  // namespace
}  // namespace tenon
