/// What the CPU reads of an image: pixels and their neighbours, a word each.
#pragma once

#if !defined(__CUDACC__)

#include <algorithm>
#include <cstring>

#include "tenon/kernels/image_pixels.h"
#include "tenon/kernels/wide_vectors.h"

namespace tenon::kernels::inline TENON_TARGET {

/// Calls f.operator()<layout>().
template <class F> auto with_layout(PixelLayout layout, const F& f) {
  switch (layout) {
    case PixelLayout::kOne:
      return f.template operator()<PixelLayout::kOne>();
    case PixelLayout::kFour:
      return f.template operator()<PixelLayout::kFour>();
    case PixelLayout::kNv12:
      return f.template operator()<PixelLayout::kNv12>();
    case PixelLayout::kI420:
      return f.template operator()<PixelLayout::kI420>();
    case PixelLayout::kYuyv:
      return f.template operator()<PixelLayout::kYuyv>();
    default:
      return f.template operator()<PixelLayout::kThree>();
  }
}

/// The words of pixel x of a row and of the one right of it. Both are in the image, and so is the
/// pixel behind them where `is_far` is set: then one load takes both.
template <PixelLayout layout, bool is_far>
inline void load_pair(const ImageView& image, int32_t x, int32_t y, uint32_t& left,
                      uint32_t& right) {
  constexpr bool is_three = layout == PixelLayout::kThree;
  if constexpr (layout == PixelLayout::kFour || (is_three && is_far)) {
    constexpr int64_t kBytes = is_three ? 3 : 4;
    uint64_t pair;
    std::memcpy(&pair, image.plane[0] + y * image.stride[0] + kBytes * x, sizeof(pair));
    left = static_cast<uint32_t>(pair);
    right = static_cast<uint32_t>(pair >> (8 * kBytes));
  } else {
    left = load_pixel<layout>(image, x, y);
    right = load_pixel<layout>(image, x + 1, y);
  }
}

/// Where words of neighbours are read from: the image, and border outside of [left, right).
struct PairReader {
  const ImageView& image;
  uint32_t border;
  int32_t left, right;

  template <PixelLayout layout>
  void read(int32_t x, int32_t y, uint32_t& first, uint32_t& second) const {
    if (x >= left && x + 2 < right) return load_pair<layout, true>(image, x, y, first, second);
    first = x >= left && x < right ? load_pixel<layout>(image, x, y) : border;
    second = x + 1 >= left && x + 1 < right ? load_pixel<layout>(image, x + 1, y) : border;
  }
  /// The four neighbours at (x[i], y[i]), for n of them.
  template <int width>
  void read_neighbours(const int32_t* x, const int32_t* y, int64_t n,
                       uint32_t (&word)[4][width]) const {
    const ImageView view = image;  // its own, which nothing that is written can be a part of
    const PairReader reader{view, border, left, right};
    with_layout(view.layout, [&, n, x, y]<PixelLayout layout>() {
      const auto columns = static_cast<uint32_t>(std::max(view.width - 2, 0));
      const auto rows = static_cast<uint32_t>(view.height - 1);
      for (int64_t i = 0; i < n; ++i) {
        uint32_t a = border, b = border, c = border, d = border;
        if (static_cast<uint32_t>(x[i]) < columns && static_cast<uint32_t>(y[i]) < rows) {
          load_pair<layout, true>(view, x[i], y[i], a, b);
          load_pair<layout, true>(view, x[i], y[i] + 1, c, d);
        } else {
          if (y[i] >= 0 && y[i] < view.height) reader.read<layout>(x[i], y[i], a, b);
          if (y[i] >= -1 && y[i] + 1 < view.height) reader.read<layout>(x[i], y[i] + 1, c, d);
        }
        word[0][i] = a;
        word[1][i] = b;
        word[2][i] = c;
        word[3][i] = d;
      }
    });
  }
  /// first[i], second[i] at low[i] of row y, for n of them.
  void read_row(const int32_t* low, int64_t n, int32_t y, uint32_t* first, uint32_t* second) const {
    const ImageView view = image;
    const PairReader reader{view, border, left, right};
    with_layout(view.layout, [&, n, low, first, second]<PixelLayout layout>() {
      for (int64_t i = 0; i < n; ++i) reader.read<layout>(low[i], y, first[i], second[i]);
    });
  }
};

/// The words of `pairs` pairs of pixels of YUV from x on, which is even.
[[gnu::always_inline]] inline void expand_pairs(const ImageView& image, int32_t x, int32_t y,
                                                int64_t pairs, uint32_t* __restrict words) {
  const auto word = [](const uint8_t* at, int64_t i) {
    uint16_t two;
    std::memcpy(&two, at + 2 * i, sizeof(two));
    return uint64_t{two};
  };
  // Two words in one, of two lumas and the chroma that they share.
  const auto store = [words](int64_t i, uint64_t lumas, uint64_t chroma) {
    const uint64_t both = (lumas & 255) | lumas >> 8 << 32 | chroma << 8 | chroma << 40;
    std::memcpy(words + 2 * i, &both, sizeof(both));
  };
  const uint8_t* const luma = image.plane[0] + y * image.stride[0];
  if (image.layout == PixelLayout::kYuyv) {
    const uint8_t* const from = luma + 2 * int64_t{x};
    for (int64_t i = 0; i < pairs; ++i) {
      const uint64_t first = word(from, 2 * i), second = word(from, 2 * i + 1);
      store(i, (first & 255) | (second & 255) << 8, first >> 8 | second >> 8 << 8);
    }
  } else if (image.layout == PixelLayout::kNv12) {
    const uint8_t* const chroma = image.plane[1] + (y >> 1) * image.stride[1] + x;
    for (int64_t i = 0; i < pairs; ++i) store(i, word(luma + x, i), word(chroma, i));
  } else {
    const uint8_t* const u = image.plane[1] + (y >> 1) * image.stride[1] + (x >> 1);
    const uint8_t* const v = image.plane[2] + (y >> 1) * image.stride[2] + (x >> 1);
    for (int64_t i = 0; i < pairs; ++i)
      store(i, word(luma + x, i), uint64_t{u[i]} | uint64_t{v[i]} << 8);
  }
}

/// A row of YUV in words, of which neighbours are read: each pixel is expanded once, and not for
/// each of the pixels that it is a neighbour of.
class ExpandedRow {
 public:
  static constexpr int32_t kMaxPixels = 2048;

  /// For reading at low[i] and low[i] + 1, for n of them, within [left, right). False where these
  /// are too far from each other.
  bool cover(const int32_t* low, int64_t n, int32_t left, int32_t right) {
    int32_t first = right - 1, last = left;
    for (int64_t i = 0; i < n; ++i) {
      const bool is_inside = low[i] >= left - 1 && low[i] < right;
      first = std::min(first, is_inside ? low[i] : first);
      last = std::max(last, is_inside ? low[i] + 1 : last);
    }
    left_ = std::max(first, left);
    right_ = std::min(last + 1, right);
    base_ = left_ & ~1;
    return right_ - base_ <= kMaxPixels;
  }
  void expand(const ImageView& image, int32_t y, uint32_t border) {
    const int64_t pairs = (std::max(right_, left_ + 1) - base_ + 1) / 2;
    with_wide_vectors([&](auto) { expand_pairs(image, base_, y, pairs, words_ + kBefore); });
    border_ = border;
  }
  void read(const int32_t* low, int64_t n, uint32_t* first, uint32_t* second) const {
    const uint32_t* const words = words_ + kBefore;
    for (int64_t i = 0; i < n; ++i) {
      const int32_t x = low[i];
      first[i] = x >= left_ && x < right_ ? words[x - base_] : border_;
      second[i] = x + 1 >= left_ && x + 1 < right_ ? words[x + 1 - base_] : border_;
    }
  }
  /// The words themselves, where those of low[0 .. n] are neighbours.
  const uint32_t* words(int32_t low) const { return words_ + kBefore + (low - base_); }

 private:
  static constexpr int kBefore = 16;

  int32_t left_ = 0, right_ = 0, base_ = 0;
  uint32_t border_ = 0;
  alignas(64) uint32_t words_[kBefore + kMaxPixels + 2];
};

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
