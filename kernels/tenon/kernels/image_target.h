/// Where sampled pixels go: an item of a batch, by planes or by pixels, of floats or bytes.
#pragma once

#include <cstdint>

#include "tenon/plugin/elements.h"

namespace tenon::kernels::inline TENON_TARGET {

enum class TargetType : int32_t { kFloat, kHalf, kUint8 };

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

}  // namespace tenon::kernels::inline TENON_TARGET
