#include "cuda/nvrtc/axes.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace tenon::cuda {
namespace {

TEST(AxesSourceTest, DivisorsDivide) {
  for (const uint32_t d : {1u, 2u, 3u, 7u, 10u, 49u, 64u, 641u, 65537u, 0x7fffffffu, 0x40000001u}) {
    const auto axis = axis_parameters(d);
    for (const uint32_t n : {0u, 1u, d - 1, d, d + 1, 12345678u, 0x7ffffffeu, 0x7fffffffu}) {
      if (n > 0x7fffffffu) continue;
      const auto high = static_cast<uint32_t>((uint64_t{n} * axis.factor) >> 32);
      EXPECT_EQ((high + n) >> axis.shift, n / d) << n << " / " << d;
    }
  }
}

TEST(AxesSourceTest, TooManyElementsAreRefused) {
  EXPECT_THROW(axis_parameters(int64_t{1} << 31), Error);
  EXPECT_THROW(AxesParameters({1 << 20, 1 << 20}, {1 << 20, 1}), Error);
}

}  // namespace
}  // namespace tenon::cuda
