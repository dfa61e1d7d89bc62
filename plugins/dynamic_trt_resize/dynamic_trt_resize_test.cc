#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

#include <algorithm>
#include <cmath>

namespace {

using tenon::kit::DataType;
using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

struct Case {
  const char* name;
  int32_t align_corners;
  std::vector<int64_t> in, out;
  std::vector<double> x, y;
};

#include "expected.h"

// The definition in double precision, for sizes too large to store: checked with PyTorch's results
// below. Corners are aligned.
std::vector<double> interpolated(const std::vector<double>& x, const std::vector<int64_t>& in,
                                 const std::vector<int64_t>& out) {
  const auto weight = [](double d) {
    d = std::fabs(d);
    constexpr double kA = -0.75;
    if (d <= 1) return (kA + 2) * d * d * d - (kA + 3) * d * d + 1;
    return d < 2 ? kA * (d * d * d - 5 * d * d + 8 * d - 4) : 0;
  };
  const auto position = [](int64_t i, int64_t from, int64_t to) {
    return to > 1 ? static_cast<double>(i * (from - 1)) / static_cast<double>(to - 1) : 0.0;
  };
  std::vector<double> y;
  for (int64_t plane = 0; plane < out[0] * out[1]; ++plane)
    for (int64_t v = 0; v < out[2]; ++v)
      for (int64_t u = 0; u < out[3]; ++u) {
        const double py = position(v, in[2], out[2]), px = position(u, in[3], out[3]);
        double sum = 0;
        for (auto j = static_cast<int64_t>(std::floor(py)) - 1; j <= std::floor(py) + 2; ++j)
          for (auto i = static_cast<int64_t>(std::floor(px)) - 1; i <= std::floor(px) + 2; ++i) {
            const int64_t row = std::clamp<int64_t>(j, 0, in[2] - 1);
            const int64_t column = std::clamp<int64_t>(i, 0, in[3] - 1);
            sum += weight(py - static_cast<double>(j)) * weight(px - static_cast<double>(i))
                   * x[(plane * in[2] + row) * in[3] + column];
          }
        y.push_back(sum);
      }
  return y;
}

// The values of size_tensor do not count, nor does its type.
PluginCase make_case(const Case& c, DataType size_type) {
  const auto count = static_cast<size_t>(c.out[2] * c.out[3]);
  return PluginCase("DynamicTRTResize")
      .attribute("align_corners", c.align_corners)
      .in("x", c.in, c.x)
      .in("size_tensor", size_type, {1, 1, c.out[2], c.out[3]}, std::vector<double>(count, 1))
      .out("y", c.out, c.y);
}

TEST(DynamicTrtResizeTest, IsPyTorchsBicubic) {
  for (const Case& c : kCases)
    EXPECT_EQ(make_case(c, DataType::kFLOAT).check(), "")
        << c.name << ", align_corners " << c.align_corners;
}

TEST(DynamicTrtResizeTest, SizeTensorMayHaveAnyType) {
  EXPECT_EQ(make_case(kCases[0], DataType::kINT8).check(), "");
}

TEST(DynamicTrtResizeTest, AlignsCornersUnlessToldOtherwise) {
  const Case& c = kCases[0];
  ASSERT_EQ(c.align_corners, 1);
  PluginCase plain = PluginCase("DynamicTRTResize")
                         .in("x", c.in, c.x)
                         .in("size_tensor", DataType::kFLOAT, {1, 1, c.out[2], c.out[3]},
                             std::vector<double>(static_cast<size_t>(c.out[2] * c.out[3])))
                         .out("y", c.out, c.y);
  EXPECT_EQ(plain.check(), "");
}

TEST(DynamicTrtResizeTest, TilesJoin) {
  for (const Case& c : kCases) {
    if (c.align_corners != 1) continue;
    EXPECT_THAT(interpolated(c.x, c.in, c.out),
                ::testing::Pointwise(::testing::DoubleNear(1e-5), c.y))
        << c.name;
  }
  Case large{"large", 1, {1, 2, 41, 41}, {1, 2, 161, 1281}, {}, {}};
  for (int i = 0; i < 2 * 41 * 41; ++i) large.x.push_back((i * 37 % 65 - 32) / 16.0);
  large.y = interpolated(large.x, large.in, large.out);
  EXPECT_EQ(make_case(large, DataType::kFLOAT).check(), "");

  Case shrunk{"shrunk", 1, {1, 1, 5, 2561}, {1, 1, 5, 41}, {}, {}};
  for (int i = 0; i < 5 * 2561; ++i) shrunk.x.push_back((i * 37 % 65 - 32) / 16.0);
  shrunk.y = interpolated(shrunk.x, shrunk.in, shrunk.out);
  EXPECT_EQ(make_case(shrunk, DataType::kFLOAT).check(), "");
}

TEST(DynamicTrtResizeTest, RefusesOtherRanks) {
  PluginCase flat = PluginCase("DynamicTRTResize")
                        .in("x", {2, 2}, {1, 2, 3, 4})
                        .in("size_tensor", DataType::kFLOAT, {2, 2}, {1, 2, 3, 4})
                        .out("y", {2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(flat.check(), HasSubstr("must have 4 dimensions"));
  PluginCase empty = PluginCase("DynamicTRTResize")
                         .in("x", {1, 1, 0, 2}, {})
                         .in("size_tensor", DataType::kFLOAT, {1, 1, 1, 1}, {1})
                         .out("y", {1, 1, 1, 1}, {0});
  EXPECT_THAT(empty.check(), HasSubstr("x is 0 x 2, which cannot be resized"));
}

}  // namespace
