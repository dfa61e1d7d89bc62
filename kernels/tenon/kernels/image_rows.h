/// What the CPU makes of words of pixels: colours that are mixed, and stored as a target wants.
#pragma once

#if !defined(__CUDACC__)

#include <algorithm>
#include <cstring>

#include "tenon/kernels/image_pixels.h"
#include "tenon/kernels/image_target.h"
#include "tenon/kernels/wide_vectors.h"
#include "tenon/plugin/convert.h"

namespace tenon::kernels::inline TENON_TARGET {

/// Calls f.operator()<channels, yuv>() for what a pixel's word holds.
template <class F> void with_channels(PixelLayout layout, const F& f) {
  if (is_yuv(layout))
    f.template operator()<3, true>();
  else if (layout == PixelLayout::kOne)
    f.template operator()<1, false>();
  else if (layout == PixelLayout::kThree)
    f.template operator()<3, false>();
  else
    f.template operator()<4, false>();
}

/// Words of the four neighbours of positions, and the weights of the right and the lower ones.
template <int width> struct Neighbourhoods {
  uint32_t word[4][width];
  float across[width], down[width];
};

/// Rows of colours: channel c is row c.
template <int width> using ColorRows = float[4][width];

/// to[c][i] = the colours of left and right, mixed by weight[i].
template <int channels, bool yuv, int width>
[[gnu::always_inline]] inline void mix_pairs(const uint32_t* __restrict left,
                                             const uint32_t* __restrict right,
                                             const float* __restrict weight, int64_t n,
                                             const ColorMatrix& matrix, ColorRows<width>& to) {
  const ColorMatrix m = matrix;
  for (int64_t i = 0; i < n; ++i) {
    float a[4], b[4];
    unpack_pixel<channels, yuv>(left[i], m, a);
    unpack_pixel<channels, yuv>(right[i], m, b);
    for (int c = 0; c < channels; ++c) to[c][i] = a[c] + weight[i] * (b[c] - a[c]);
  }
}

/// to[c][i] = the colour of words[i].
template <int channels, bool yuv, int width>
[[gnu::always_inline]] inline void unpack_row(const uint32_t* __restrict words, int64_t n,
                                              const ColorMatrix& matrix, ColorRows<width>& to) {
  const ColorMatrix m = matrix;
  for (int64_t i = 0; i < n; ++i) {
    float color[4];
    unpack_pixel<channels, yuv>(words[i], m, color);
    for (int c = 0; c < channels; ++c) to[c][i] = color[c];
  }
}

template <int channels, bool yuv, int width>
[[gnu::always_inline]] inline void mix_neighbours(const Neighbourhoods<width>& from, int64_t n,
                                                  const ColorMatrix& matrix, ColorRows<width>& to) {
  const ColorMatrix m = matrix;
  for (int64_t i = 0; i < n; ++i) {
    float a[4], b[4], c[4], d[4];
    unpack_pixel<channels, yuv>(from.word[0][i], m, a);
    unpack_pixel<channels, yuv>(from.word[1][i], m, b);
    unpack_pixel<channels, yuv>(from.word[2][i], m, c);
    unpack_pixel<channels, yuv>(from.word[3][i], m, d);
    for (int k = 0; k < channels; ++k) {
      const float above = a[k] + from.across[i] * (b[k] - a[k]);
      const float below = c[k] + from.across[i] * (d[k] - c[k]);
      to[k][i] = above + from.down[i] * (below - above);
    }
  }
}

/// to[i] = above[i] * a + below[i] * b + shift.
[[gnu::always_inline]] inline void mix_rows(const float* __restrict above, float a,
                                            const float* __restrict below, float b, float shift,
                                            int64_t n, float* __restrict to) {
  for (int64_t i = 0; i < n; ++i) to[i] = above[i] * a + (below[i] * b + shift);
}

[[gnu::always_inline]] inline void round_row(const float* __restrict from, uint8_t* __restrict to,
                                             int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = to_byte(from[i]);
}

/// words[i] = the three colours of a pixel, rounded to bytes.
[[gnu::always_inline]] inline void pack_row(const float* __restrict a, const float* __restrict b,
                                            const float* __restrict c, int64_t n,
                                            uint32_t* __restrict words) {
  for (int64_t i = 0; i < n; ++i)
    words[i] = to_byte(a[i]) | uint32_t{to_byte(b[i])} << 8 | uint32_t{to_byte(c[i])} << 16;
}
/// words[i] = the colour of YUV's yuv[i], rounded, its blue or its red first.
template <bool swaps>
[[gnu::always_inline]] inline void recolor_row(const uint32_t* __restrict yuv, int64_t n,
                                               const ColorMatrix& matrix,
                                               uint32_t* __restrict words) {
  const ColorMatrix m = matrix;
  for (int64_t i = 0; i < n; ++i) {
    float color[3];
    mix_yuv(yuv[i], m, color);
    const auto byte = [&](int c) {  // integers are bounded in one instruction, floats are not
      const auto whole = static_cast<int32_t>(color[c] + 0.5f);
      return static_cast<uint32_t>(whole < 0 ? 0 : whole > 255 ? 255 : whole);
    };
    words[i] = byte(swaps ? 2 : 0) | byte(1) << 8 | byte(swaps ? 0 : 2) << 16;
  }
}
/// The lower three bytes of n words, one behind the other.
[[gnu::always_inline]] inline void store_three_bytes(const uint32_t* words, int64_t n,
                                                     uint8_t* to) {
  typedef uint8_t Bytes __attribute__((vector_size(16)));
  int64_t i = 0;
  for (; i + 6 <= n; i += 4) {  // sixteen bytes, of which the next words overwrite four
    Bytes four;
    std::memcpy(&four, words + i, sizeof(four));
    four =
        __builtin_shufflevector(four, four, 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
    std::memcpy(to + 3 * i, &four, sizeof(four));
  }
  for (; i < n; ++i)
    for (int k = 0; k < 3; ++k) to[3 * i + k] = static_cast<uint8_t>(words[i] >> (8 * k));
}

/// Stores rows of results of `target` at (x .. x + n, y).
template <int width> class RowStore {
 public:
  /// Where channel c of a row may be computed in place, or null.
  static float* in_place(const ImageTarget& to, int32_t c, int32_t y, int32_t x) {
    if (to.type != TargetType::kFloat || to.focuses || to.column_step != 1) return nullptr;
    return static_cast<float*>(to.data) + to.offset(c, y, x);
  }

  /// Whether pixels of three bytes lie one behind the other.
  static bool is_packed(const ImageTarget& to) {
    return to.type == TargetType::kUint8 && !to.focuses && to.channels == 3 && to.channel_step == 1
           && to.column_step == 3;
  }
  static bool changes_values(const ImageTarget& to) {
    for (int32_t c = 0; c < to.channels; ++c)
      if (to.scale[c] != 1 || to.shift[c] != 0) return true;
    return false;
  }

  /// Words of YUV to pixels of three bytes.
  /// @pre is_packed(to) and not changes_values(to).
  void recolor(const ImageTarget& to, const uint32_t* yuv, const ColorMatrix& m, int32_t y,
               int32_t x, int64_t n) {
    with_wide_vectors([&](auto) {
      if (to.from[0] == 0)
        recolor_row<false>(yuv, n, m, words_);
      else
        recolor_row<true>(yuv, n, m, words_);
      store_three_bytes(words_, n, static_cast<uint8_t*>(to.data) + to.offset(0, y, x));
    });
  }
  void store(const ImageTarget& to, const ColorRows<width>& rows, int32_t y, int32_t x, int64_t n) {
    if (to.type == TargetType::kFloat)
      arrange(to, rows, y, x, n);
    else if (to.type == TargetType::kHalf)
      convert_and_arrange(to, rows, half_, y, x, n);
    else if (is_packed(to))
      store_packed(to, rows, y, x, n);
    else
      convert_and_arrange(to, rows, byte_, y, x, n);
  }

 private:
  static void convert(const float* from, kit::Half* to, int64_t n) { kit::convert(from, to, n); }
  static void convert(const float* from, uint8_t* to, int64_t n) {
    with_wide_vectors([=](auto) { round_row(from, to, n); });
  }

  void store_packed(const ImageTarget& to, const ColorRows<width>& rows, int32_t y, int32_t x,
                    int64_t n) {
    with_wide_vectors([&](auto) {
      pack_row(rows[0], rows[1], rows[2], n, words_);
      store_three_bytes(words_, n, static_cast<uint8_t*>(to.data) + to.offset(0, y, x));
    });
  }
  template <class E>
  void convert_and_arrange(const ImageTarget& to, const ColorRows<width>& rows,
                           E (&results)[4][width], int32_t y, int32_t x, int64_t n) {
    const bool has_rows = !to.focuses && to.column_step == 1;
    for (int32_t c = 0; c < to.channels; ++c)
      convert(rows[c], has_rows ? static_cast<E*>(to.data) + to.offset(c, y, x) : results[c], n);
    if (!has_rows) arrange(to, results, y, x, n);
  }

  template <class E>
  static void arrange(const ImageTarget& to, const E (&rows)[4][width], int32_t y, int32_t x,
                      int64_t n) {
    auto* const data = static_cast<E*>(to.data);
    if (!to.focuses && to.channels == 3 && to.channel_step == 1 && to.column_step == 3) {
      E* const pixels = data + to.offset(0, y, x);
      for (int64_t i = 0; i < n; ++i)
        for (int c = 0; c < 3; ++c) pixels[3 * i + c] = rows[c][i];
      return;
    }
    const int32_t step = to.focuses ? 2 : 1;  // neighbours of one parity are neighbours again
    for (int32_t c = 0; c < to.channels; ++c)
      for (int32_t first = 0; first < std::min<int64_t>(step, n); ++first) {
        E* at = data + to.offset(c, y, x + first);
        for (int64_t i = first; i < n; i += step, at += to.column_step) *at = rows[c][i];
      }
  }

  kit::Half half_[4][width];
  uint8_t byte_[4][width];
  uint32_t words_[width];
};

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
