// Where elements lie in each format: the channels of two pixels, as TensorRT's "Data Format
// Descriptions" draws them.
#include "tenon/plugin/placement.h"

#include <gtest/gtest.h>

#include <vector>

namespace tenon::kit::testing {
namespace {

using nvinfer1::Dims;
using nvinfer1::TensorFormat;

// Memory as "cp", channel and pixel of what lies there; "--" is padding.
std::vector<std::string> memory_of(const Dims& dims, TensorFormat format) {
  const Placement place(dims, format);
  std::vector<std::string> memory(place.elements(), "--");
  size_t i = 0;
  for (int64_t n = 0; n < dims.d[0]; ++n)
    for (int64_t c = 0; c < dims.d[1]; ++c)
      for (int64_t p = 0; p < 2; ++p) memory.at(place(i++)) = std::to_string(10 * (c + 1) + p);
  return memory;
}

TEST(PlacementTest, VectorsOfChannels) {
  EXPECT_EQ(memory_of({4, {1, 3, 1, 2}}, TensorFormat::kCHW2),
            (std::vector<std::string>{"10", "20", "11", "21", "30", "--", "31", "--"}));
  EXPECT_EQ(memory_of({4, {2, 1, 2, 1}}, TensorFormat::kCHW2),
            (std::vector<std::string>{"10", "--", "11", "--", "10", "--", "11", "--"}));
  EXPECT_EQ(memory_of({4, {1, 3, 2, 1}}, TensorFormat::kCHW4),
            (std::vector<std::string>{"10", "20", "30", "--", "11", "21", "31", "--"}));
}

TEST(PlacementTest, ChannelsLast) {
  EXPECT_EQ(memory_of({4, {2, 2, 1, 2}}, TensorFormat::kHWC),
            (std::vector<std::string>{"10", "20", "11", "21", "10", "20", "11", "21"}));
  const std::vector<std::string> padded = {"10", "20", "30", "--", "--", "--", "--", "--",
                                           "11", "21", "31", "--", "--", "--", "--", "--"};
  EXPECT_EQ(memory_of({4, {1, 3, 1, 2}}, TensorFormat::kHWC8), padded);
  EXPECT_EQ(memory_of({5, {1, 3, 2, 1, 1}}, TensorFormat::kDHWC8), padded);
}

TEST(PlacementTest, Sizes) {
  const Dims image{4, {2, 33, 3, 5}}, volume{5, {2, 33, 3, 5, 7}}, none{4, {2, 0, 3, 5}};
  const size_t pixels = 2 * 3 * 5;
  EXPECT_EQ(Placement(image, TensorFormat::kLINEAR).elements(), pixels * 33);
  EXPECT_EQ(Placement(image, TensorFormat::kCHW16).elements(), pixels * 48);
  EXPECT_EQ(Placement(image, TensorFormat::kCHW32).elements(), pixels * 64);
  EXPECT_EQ(Placement(image, TensorFormat::kHWC16).elements(), pixels * 48);
  EXPECT_EQ(Placement(volume, TensorFormat::kCDHW32).elements(), pixels * 7 * 64);
  EXPECT_EQ(Placement(volume, TensorFormat::kDHWC).elements(), pixels * 7 * 33);
  EXPECT_EQ(Placement(none, TensorFormat::kHWC).elements(), 0U);
}

TEST(PlacementTest, RefusesOtherDimensions) {
  EXPECT_THROW(Placement({3, {3, 4, 5}}, TensorFormat::kHWC), std::invalid_argument);
  EXPECT_THROW(Placement({4, {1, 3, 4, 5}}, TensorFormat::kDHWC8), std::invalid_argument);
}

}  // namespace
}  // namespace tenon::kit::testing
