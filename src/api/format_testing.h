// What memory holds in each TensorFormat, by TensorRT's definition, written down here once more.
#pragma once

#include <NvInfer.h>

#include <vector>

namespace tenon::testing {

/// Of tensors of channels and positions, or of images of these.
struct FormatCase {
  nvinfer1::TensorFormat format;
  int64_t vector;  // channels side by side; all of them where it is 0
  int64_t padded;  // the number of channels is padded to a multiple of it
  bool has_depth = false;

  int64_t padded_channels(int64_t channels) const {
    return (channels + padded - 1) / padded * padded;
  }
  /// Where an element lies, of so many channels and positions.
  size_t at(int64_t image, int64_t channel, int64_t position, int64_t channels,
            int64_t positions) const {
    const int64_t all = padded_channels(channels), side_by_side = vector == 0 ? all : vector;
    const int64_t group = image * (all / side_by_side) + channel / side_by_side;
    return static_cast<size_t>((group * positions + position) * side_by_side
                               + channel % side_by_side);
  }
};

inline constexpr FormatCase kFormatCases[] = {
    {nvinfer1::TensorFormat::kCHW2, 2, 2},        {nvinfer1::TensorFormat::kCHW4, 4, 4},
    {nvinfer1::TensorFormat::kCHW16, 16, 16},     {nvinfer1::TensorFormat::kCHW32, 32, 32},
    {nvinfer1::TensorFormat::kHWC, 0, 1},         {nvinfer1::TensorFormat::kHWC8, 0, 8},
    {nvinfer1::TensorFormat::kHWC16, 0, 16},      {nvinfer1::TensorFormat::kDHWC, 0, 1, true},
    {nvinfer1::TensorFormat::kDHWC8, 0, 8, true}, {nvinfer1::TensorFormat::kCDHW32, 32, 32, true},
    {nvinfer1::TensorFormat::kLINEAR, 1, 1}};

inline nvinfer1::TensorFormats only(nvinfer1::TensorFormat format) {
  return 1u << static_cast<int>(format);
}

/// The elements of a tensor of (n, c, positions) as they lie in the format; the rest is `padding`.
template <class T>
std::vector<T> packed(const std::vector<T>& linear, int64_t n, int64_t c, int64_t positions,
                      const FormatCase& format, T padding) {
  std::vector<T> result(static_cast<size_t>(n * format.padded_channels(c) * positions), padding);
  size_t from = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < c; ++k)
      for (int64_t p = 0; p < positions; ++p)
        result[format.at(i, k, p, c, positions)] = linear[from++];
  return result;
}

}  // namespace tenon::testing
