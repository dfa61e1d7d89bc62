/// Pixels of images of bytes: channels side by side, or luma with chroma of half the extent.
#pragma once

#include <cstdint>

#include "tenon/plugin/elements.h"

namespace tenon::kernels::inline TENON_TARGET {

/// How pixels lie in memory: that many channels side by side, or YUV. NV12 is a plane of Y and one
/// of U and V in turn for each 2x2 pixels; I420 has U and V in planes of their own; YUYV has Y, U,
/// Y, V for each two pixels of a row.
enum class PixelLayout : int32_t { kOne, kThree, kFour, kNv12, kI420, kYuyv };

TENON_HD constexpr bool is_yuv(PixelLayout layout) {
  return layout >= PixelLayout::kNv12;
}
/// Channels of a pixel once it is a colour: YUV becomes blue, green and red.
TENON_HD constexpr int channels_of(PixelLayout layout) {
  return layout == PixelLayout::kOne ? 1 : layout == PixelLayout::kFour ? 4 : 3;
}

/// Y from 16 to 235, and U and V around 128, to colours of 0 to 255.
struct ColorMatrix {
  float luma, blue_u, green_u, green_v, red_v;
};
/// BT.601, with the fractions of 2^20 that OpenCV's cvtColor has.
TENON_HD constexpr ColorMatrix bt601() {
  constexpr float kOne = 1 << 20;
  return {1220542 / kOne, 2116026 / kOne, -409993 / kOne, -852492 / kOne, 1673527 / kOne};
}
/// BT.709.
TENON_HD constexpr ColorMatrix bt709() {
  return {1.164384f, 2.112402f, -0.213249f, -0.532909f, 1.792741f};
}

/// Memory of others; null planes where the layout has none. Strides are bytes from row to row.
struct ImageView {
  const uint8_t* plane[3];
  int64_t stride[3];
  int32_t width, height;
  PixelLayout layout;
  ColorMatrix color;
};

/// A pixel in one word: its channels, or Y, U and V, from the lowest byte on.
template <PixelLayout layout>
TENON_HD inline uint32_t load_pixel(const ImageView& image, int32_t x, int32_t y) {
  const auto word = [](uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    return a | b << 8 | c << 16 | d << 24;
  };
  const uint8_t* row = image.plane[0] + y * image.stride[0];
  if constexpr (layout == PixelLayout::kOne) {
    return row[x];
  } else if constexpr (layout == PixelLayout::kThree) {
    const uint8_t* p = row + int64_t{3} * x;
    return word(p[0], p[1], p[2], 0);
  } else if constexpr (layout == PixelLayout::kFour) {
    const uint8_t* p = row + int64_t{4} * x;
    return word(p[0], p[1], p[2], p[3]);
  } else if constexpr (layout == PixelLayout::kNv12) {
    const uint8_t* uv = image.plane[1] + (y >> 1) * image.stride[1] + (x >> 1) * 2;
    return word(row[x], uv[0], uv[1], 0);
  } else if constexpr (layout == PixelLayout::kI420) {
    return word(row[x], image.plane[1][(y >> 1) * image.stride[1] + (x >> 1)],
                image.plane[2][(y >> 1) * image.stride[2] + (x >> 1)], 0);
  } else {
    const uint8_t* pair = row + int64_t{4} * (x >> 1);
    return word(pair[(x & 1) * 2], pair[1], pair[3], 0);
  }
}

/// What pixels outside of an image are: the same value in all channels. The top byte marks it for
/// layouts of YUV, whose pixels leave it 0.
TENON_HD inline uint32_t border_pixel(PixelLayout layout, uint8_t value) {
  return is_yuv(layout) ? 0xff000000u | value * 0x10101u : value * 0x1010101u;
}

/// Byte i of a word.
TENON_HD inline int32_t byte_of(uint32_t word, int i) {
  return static_cast<int32_t>(word >> (8 * i) & 255);
}

/// Blue, green and red of a word of YUV, which may be below 0 or above 255.
TENON_HD inline void mix_yuv(uint32_t word, const ColorMatrix& m, float* color) {
  const int32_t above = byte_of(word, 0) - 16;
  const float y = static_cast<float>(above > 0 ? above : 0) * m.luma;
  const auto u = static_cast<float>(byte_of(word, 1) - 128);
  const auto v = static_cast<float>(byte_of(word, 2) - 128);
  color[0] = y + m.blue_u * u;
  color[1] = y + m.green_u * u + m.green_v * v;
  color[2] = y + m.red_v * v;
}

/// A word as a colour: its bytes, or YUV's blue, green and red. Not rounded, but within 0 to 255.
/// Without branches, so that loops over it become vectors.
template <int channels, bool yuv>
TENON_HD inline void unpack_pixel(uint32_t word, const ColorMatrix& m, float* color) {
  if constexpr (!yuv) {
    for (int c = 0; c < channels; ++c) color[c] = static_cast<float>(byte_of(word, c));
  } else {
    float mixed[3];
    mix_yuv(word, m, mixed);
    // 1 for colours of the border, which are stored as they are.
    const auto border = static_cast<float>(word >> 31);
    for (int c = 0; c < 3; ++c) {
      const float low = mixed[c] > 0 ? mixed[c] : 0;
      const float value = low < 255 ? low : 255;
      color[c] = value + border * (static_cast<float>(byte_of(word, c)) - value);
    }
  }
}

}  // namespace tenon::kernels::inline TENON_TARGET
