#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/cases.h>

#include <algorithm>
#include <cmath>

#include "tenon_source_dir.h"

namespace {

using tenon::kit::DataType;
using tenon::kit::testing::CaseTensor;
using tenon::kit::testing::PluginCase;
using tenon::kit::testing::read_cases;
using ::testing::HasSubstr;

struct Case {
  std::vector<int64_t> in, out;
  std::vector<double> x, y;
};

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
std::string check_dynamic_trt_resize(const Case& c, DataType size_type) {
  return PluginCase("DynamicTRTResize")
      .in("x", c.in, c.x)
      .in("size_tensor", size_type, {1, 1, c.out[2], c.out[3]}, {})
      .out("y", c.out, c.y)
      .check();
}

Case make_case(const std::vector<int64_t>& in, const std::vector<int64_t>& out) {
  Case c{in, out, {}, {}};
  for (int64_t i = 0; i < in[0] * in[1] * in[2] * in[3]; ++i)
    c.x.push_back(static_cast<double>(i * 37 % 65 - 32) / 16.0);
  c.y = interpolated(c.x, in, out);
  return c;
}

TEST(DynamicTrtResizeTest, TheDefinitionIsPyTorchs) {
  int compared = 0;
  for (const auto& [name, test] :
       read_cases(TENON_SOURCE_DIR "/plugins/dynamic_trt_resize/cases.json")) {
    if (name.find("corners aligned") == std::string::npos) continue;
    const auto dims_of = [](const CaseTensor& t) {
      return std::vector<int64_t>(t.dims.d, t.dims.d + t.dims.nbDims);
    };
    const CaseTensor &x = test.inputs()[0], &y = test.outputs()[0];
    EXPECT_THAT(interpolated(x.values, dims_of(x), dims_of(y)),
                ::testing::Pointwise(::testing::DoubleNear(1e-5), y.values))
        << name;
    ++compared;
  }
  EXPECT_EQ(compared, 6);
}

TEST(DynamicTrtResizeTest, SizeTensorMayHaveAnyType) {
  const Case c = make_case({1, 2, 4, 5}, {1, 2, 7, 9});
  for (const DataType type : {DataType::kFLOAT, DataType::kINT8, DataType::kINT64})
    EXPECT_EQ(check_dynamic_trt_resize(c, type), "");
}

TEST(DynamicTrtResizeTest, TilesJoin) {
  EXPECT_EQ(
      check_dynamic_trt_resize(make_case({1, 2, 41, 41}, {1, 2, 161, 1281}), DataType::kFLOAT), "");
  EXPECT_EQ(check_dynamic_trt_resize(make_case({1, 1, 5, 2561}, {1, 1, 5, 41}), DataType::kFLOAT),
            "");
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
