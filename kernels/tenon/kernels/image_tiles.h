/// Images sampled on the CPU: tiles of the target whose rows stay in the L1 cache.
#pragma once

#include "tenon/kernels/image_sampling.h"

#if !defined(__CUDACC__)
#include "tenon/kernels/image_rows.h"
#include "tenon/kernels/image_words.h"
#endif

namespace tenon::kernels::inline TENON_TARGET {

#if !defined(__CUDACC__)

/// Allocates nothing: all memory of a tile is its own.
class ImageTile {
 public:
  /// Wide, as an image is read faster in long runs; and no power of two, as the rows of a tile
  /// would be in the same sets of the L1 cache then.
  static constexpr int kWidth = 1040, kHeight = 32;

  explicit ImageTile(const ImageSampling& sampling)
      : s_(sampling), border_(border_pixel(s_.image.layout, s_.border)) {}

  /// Columns [x, x + n) of rows [y, end).
  void run(int32_t y, int32_t end, int32_t x, int64_t n) {
    x_ = x;
    n_ = n;
    if (s_.is_separable)
      run_separable(y, end);
    else
      for (; y < end; ++y) run_projective(y);
  }

 private:
  // Rows of the image are mixed along x once; the two that a row of the target needs are
  // neighbours, so each has a slot of its own.
  void run_separable(int32_t y, int32_t end) {
    const SampleAxis& columns = s_.columns;
    with_wide_vectors([&](auto) {
      for (int64_t i = 0; i < n_; ++i) {
        const AxisSample sample = columns.at(x_ + static_cast<int32_t>(i));
        low_[i] = sample.low;
        from_.across[i] = sample.weight;
      }
    });
    expands_ = is_yuv(s_.image.layout) && row_.cover(low_, n_, columns.begin, columns.end);
    copies_ = expands_ && columns.scale == 1 && from_.across[0] == 0 && low_[0] >= columns.begin
              && low_[n_ - 1] - low_[0] == n_ - 1 && low_[n_ - 1] < columns.end
              && x_ >= columns.first && x_ + n_ <= columns.last;
    const bool recolors =
        copies_ && RowStore<kWidth>::is_packed(s_.to) && !RowStore<kWidth>::changes_values(s_.to);
    for (; y < end; ++y) {
      const AxisSample down = s_.rows.at(y);
      if (recolors && down.weight == 0 && down.low >= s_.rows.begin && down.low < s_.rows.end) {
        row_.expand(s_.image, down.low, border_);
        store_.recolor(s_.to, row_.words(low_[0]), s_.image.color, y, x_, n_);
        continue;
      }
      const int above = mix_along(down.low);
      store_mixed(y, above, down.weight == 0 ? above : mix_along(down.low + 1), down.weight);
    }
  }

  // The slot of row y of the image.
  int mix_along(int32_t y) {
    const int slot = y & 1;
    if (held_[slot] == y) return slot;
    held_[slot] = y;
    if (y < s_.rows.begin || y >= s_.rows.end) {
      for (auto& row : mixed_[slot]) std::fill_n(row, n_, static_cast<float>(s_.border));
      return slot;
    }
    uint32_t *left = from_.word[0], *right = from_.word[1];
    if (expands_) {
      row_.expand(s_.image, y, border_);
      if (copies_) {
        with_wide_vectors([&](auto) {
          unpack_row<3, true>(row_.words(low_[0]), n_, s_.image.color, mixed_[slot]);
        });
        return slot;
      }
      row_.read(low_, n_, left, right);
    } else {
      const PairReader reader{s_.image, border_, s_.columns.begin, s_.columns.end};
      reader.read_row(low_, n_, y, left, right);
    }
    with_channels(s_.image.layout, [&]<int channels, bool yuv>() {
      with_wide_vectors([&](auto) {
        mix_pairs<channels, yuv>(left, right, from_.across, n_, s_.image.color, mixed_[slot]);
      });
    });
    return slot;
  }

  void store_mixed(int32_t y, int above, int below, float weight) {
    const ImageTarget& to = s_.to;
    bool is_in_place = true;
    for (int32_t c = 0; c < to.channels; ++c) {
      float* row = RowStore<kWidth>::in_place(to, c, y, x_);
      is_in_place = row != nullptr;
      if (!is_in_place) row = result_[c];
      const float *a = mixed_[above][to.from[c]], *b = mixed_[below][to.from[c]];
      with_wide_vectors([&, scale = to.scale[c], shift = to.shift[c]](auto) {
        mix_rows(a, scale * (1 - weight), b, scale * weight, shift, n_, row);
      });
    }
    if (!is_in_place) store_.store(to, result_, y, x_, n_);
  }

  void run_projective(int32_t y) {
    with_wide_vectors([&](auto) {
      if (s_.is_perspective)
        find_positions<true>(y);
      else
        find_positions<false>(y);
    });
    const PairReader reader{s_.image, border_, 0, s_.image.width};
    reader.read_neighbours(low_, high_, n_, from_.word);
    with_channels(s_.image.layout, [&]<int channels, bool yuv>() {
      with_wide_vectors(
          [&](auto) { mix_neighbours<channels, yuv>(from_, n_, s_.image.color, mixed_[0]); });
    });
    store_mixed(y, 0, 0, 0);
  }

  template <bool perspective> [[gnu::always_inline]] void find_positions(int32_t y) {
    const double* m = s_.matrix;
    const double column = m[1] * y + m[2], row = m[4] * y + m[5], divisor = m[7] * y + m[8];
    const int32_t width = s_.image.width, height = s_.image.height;
    for (int64_t i = 0; i < n_; ++i) {
      const auto x = static_cast<double>(x_ + static_cast<int32_t>(i));
      const double w = perspective ? 1 / (m[6] * x + divisor) : 1;
      const AxisSample across = sample_at((m[0] * x + column) * w, 0, width);
      const AxisSample down = sample_at((m[3] * x + row) * w, 0, height);
      low_[i] = across.low;
      high_[i] = down.low;
      from_.across[i] = across.weight;
      from_.down[i] = down.weight;
    }
  }

  const ImageSampling& s_;
  uint32_t border_;
  int32_t x_ = 0;
  int64_t n_ = 0;
  bool expands_ = false, copies_ = false;
  int32_t held_[2] = {INT32_MIN, INT32_MIN};
  alignas(64) int32_t low_[kWidth];
  alignas(64) int32_t high_[kWidth];
  alignas(64) Neighbourhoods<kWidth> from_;
  alignas(64) ColorRows<kWidth> mixed_[2];
  alignas(64) ColorRows<kWidth> result_;
  ExpandedRow row_;
  RowStore<kWidth> store_;
};

/// Fills `count` targets of width x height; at(i) gives the sampling of one.
template <class At>
void sample_tiles(const kit::Device& device, int64_t count, int32_t width, int32_t height,
                  const At& at) {
  constexpr int64_t kUnit = 16;  // columns of equal tiles, in whole vectors
  const int64_t parts = (width + ImageTile::kWidth - 1) / ImageTile::kWidth;
  const int64_t columns = ((width + parts - 1) / parts + kUnit - 1) / kUnit * kUnit;
  const int64_t across = (width + columns - 1) / columns;
  const int64_t down = (height + ImageTile::kHeight - 1) / ImageTile::kHeight;
  device.parallel_ranges(count * down * across, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t y = i / across % down * ImageTile::kHeight, x = i % across * columns;
      const ImageSampling sampling = at(i / (down * across));
      ImageTile tile(sampling);
      tile.run(static_cast<int32_t>(y),
               static_cast<int32_t>(std::min<int64_t>(y + ImageTile::kHeight, height)),
               static_cast<int32_t>(x), std::min(columns, width - x));
    }
  });
}

/// Fills `count` targets, all of one width and height.
inline void sample_images(const kit::Device& device, const ImageSampling* samplings,
                          int64_t count) {
  if (count > 0)
    sample_tiles(device, count, samplings->to.width, samplings->to.height,
                 [&](int64_t i) -> const ImageSampling& { return samplings[i]; });
}

/// Fills `count` targets.
inline void sample_batch(const kit::Device& device, const ImageBatch& batch, int64_t count) {
  const ImageTarget& to = batch.first.to;
  sample_tiles(device, count, to.width, to.height, [&](int64_t item) {
    ImageSampling sampling = batch.first;
    sampling.image = batch.image(item);
    sampling.to.data = to.at(item * batch.target_step);
    return sampling;
  });
}

#else

inline void sample_images(const kit::Device& device, const ImageSampling* samplings,
                          int64_t count) {
  sample_pixels(device, samplings, count);
}

inline void sample_batch(const kit::Device& device, const ImageBatch& batch, int64_t count) {
  const ImageTarget& to = batch.first.to;
  device.parallel_for(count * to.width * to.height, SamplePixel{batch});
}

#endif

}  // namespace tenon::kernels::inline TENON_TARGET
