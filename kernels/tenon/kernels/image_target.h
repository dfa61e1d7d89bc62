/// Where sampled pixels go: an item of a batch, by planes or by pixels, of floats or bytes.
#pragma once

#include <cstdint>

#include "tenon/kernels/image_pixels.h"

namespace tenon::kernels::inline TENON_TARGET {

enum class TargetType : int32_t { kFloat, kHalf, kUint8 };
/// How a target lies in memory: (C, H, W), (H, W, C), or with space to depth (4 C, H / 2, W / 2).
enum class TargetLayout : int32_t { kPlanes, kPixels, kFocus };

/// Channel c becomes scale[c] * x + shift[c]; a fourth one is as the first. `swaps` exchanges the
/// first and the third channel.
struct ChannelNorm {
  float scale[3], shift[3];
  bool swaps;
};

/// Rounds half away from zero, and saturates; not a number becomes 0.
TENON_HD inline uint8_t to_byte(float x) {
  const float low = x > 0 ? x : 0;
  return static_cast<uint8_t>(static_cast<int32_t>((low < 255 ? low : 255) + 0.5f));
}

/// Channel c of the result is scale[c] * colour[from[c]] + shift[c]. Steps are in elements.
struct ImageTarget {
  void* data;
  TargetType type;
  int32_t width, height, channels;  ///< of the picture before it is rearranged
  int64_t channel_step, row_step, column_step;
  /// Space to depth: channels of even rows and columns come first, then those of odd rows, then
  /// of odd columns, then of both, each a quarter of the picture. Width and height are even.
  bool focuses;
  int32_t from[4];
  float scale[4], shift[4];

  TENON_HD int64_t offset(int32_t c, int32_t y, int32_t x) const {
    if (!focuses) return c * channel_step + y * row_step + x * column_step;
    const int64_t quarter = y % 2 + x % 2 * 2;
    return (quarter * channels + c) * channel_step + y / 2 * row_step + x / 2 * column_step;
  }
  /// Element `i`.
  TENON_HD void* at(int64_t i) const {
    const int64_t size = type == TargetType::kFloat ? 4 : type == TargetType::kHalf ? 2 : 1;
    return static_cast<char*>(data) + i * size;
  }
  TENON_HD void store(int64_t at, float value) const {
    if (type == TargetType::kFloat)
      static_cast<float*>(data)[at] = value;
    else if (type == TargetType::kHalf)
      static_cast<kit::Half*>(data)[at] = static_cast<kit::Half>(value);
    else
      static_cast<uint8_t*>(data)[at] = to_byte(value);
  }
};

/// An item whose rows lie one behind the other, and whose channels are those of the image: 1 to 4,
/// or 3 of a grey image. Width and height are the picture's; `data` is null.
inline ImageTarget image_target(TargetType type, TargetLayout layout, int32_t width, int32_t height,
                                int32_t channels, PixelLayout image, const ChannelNorm& norm) {
  ImageTarget to{};
  to.type = type;
  to.width = width;
  to.height = height;
  to.channels = channels;
  to.focuses = layout == TargetLayout::kFocus;
  const int64_t share = to.focuses ? 2 : 1, columns = width / share, rows = height / share;
  const bool is_pixels = layout == TargetLayout::kPixels;
  to.channel_step = is_pixels ? 1 : columns * rows;
  to.column_step = is_pixels ? channels : 1;
  to.row_step = columns * to.column_step;
  const bool is_grey = channels_of(image) == 1, swaps = norm.swaps && !is_grey;
  for (int32_t c = 0; c < channels; ++c) {
    to.from[c] = is_grey ? 0 : swaps && c < 3 ? 2 - c : c;
    to.scale[c] = norm.scale[c % 3];
    to.shift[c] = norm.shift[c % 3];
  }
  return to;
}

}  // namespace tenon::kernels::inline TENON_TARGET
