// What cases are too small for: bins of more samples than are read at a time, and many channels.
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

namespace {

using tenon::kit::testing::PluginCase;

// A bilinear sample of a plane that rises evenly is exact, and the average of a bin is its middle.
TEST(PyramidRoiAlignTest, AveragesOfManySamples) {
  constexpr int64_t kChannels = 70, kSize = 16;
  std::vector<double> map, expected;
  for (int64_t c = 0; c < kChannels; ++c)
    for (int64_t i = 0; i < kSize * kSize; ++i)
      map.push_back(static_cast<double>(c + i / kSize + 2 * (i % kSize)));
  // Elements 4 to 12 of both axes, in bins of 4, whose positions begin half an element earlier.
  for (int64_t c = 0; c < kChannels; ++c)
    for (const double row : {5.5, 9.5})
      for (const double column : {5.5, 9.5})
        expected.push_back(static_cast<double>(c) + row + 2 * column);
  PluginCase test("PyramidROIAlign_TRT");
  test.attribute("pooled_size", 2)
      .attribute("image_size", std::vector<int32_t>{16, 16})
      .attribute("sampling_ratio", 20)
      .tolerance(1e-5, 3e-3)
      .in("rois", {1, 1, 4}, {4, 4, 12, 12});
  for (int level = 0; level < 4; ++level) test.in("feature_map", {1, kChannels, kSize, kSize}, map);
  EXPECT_EQ(test.out("pooled", {1, 1, kChannels, 2, 2}, expected).check(), "");
}

}  // namespace
