// What cases are too small for: more wanted pixels than a product takes at a time.
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

namespace {

using tenon::kit::testing::PluginCase;

TEST(MaskedConvolutionTest, ManyPixels) {
  constexpr int64_t kSize = 50, kPlane = kSize * kSize;
  std::vector<double> x, mask, expected;
  for (int64_t i = 0; i < 2 * kPlane; ++i) x.push_back(static_cast<double>(i * 37 % 17 - 8) / 8);
  for (int64_t i = 0; i < kPlane; ++i) mask.push_back(i % 5 == 0 ? 0 : 1);
  // One output channel of 3x3: the sum of both channels' windows, times 1/2, plus 1.
  for (int64_t i = 0; i < kPlane; ++i) {
    double sum = 0;
    for (int64_t c = 0; c < 2; ++c)
      for (int64_t row = i / kSize - 1; row <= i / kSize + 1; ++row)
        for (int64_t column = i % kSize - 1; column <= i % kSize + 1; ++column)
          if (row >= 0 && row < kSize && column >= 0 && column < kSize)
            sum += x[static_cast<size_t>(c * kPlane + row * kSize + column)];
    expected.push_back(mask[static_cast<size_t>(i)] > 0 ? sum / 2 + 1 : 0);
  }
  EXPECT_EQ(PluginCase("MMCVMaskedConv2d")
                .attribute("padding", std::vector<int32_t>{1, 1})
                .in("features", {1, 2, kSize, kSize}, x)
                .in("mask", {1, kSize, kSize}, mask)
                .in("weight", {1, 2, 3, 3}, std::vector<double>(18, 0.5))
                .in("bias", {1}, {1})
                .out("output", {1, 1, kSize, kSize}, expected)
                .check(),
            "");
}

}  // namespace
