/// Matrix products of tiles, for kernels that make one factor as they go.
#pragma once

#include "tenon/kernels/wide_vectors.h"

#if !defined(__CUDACC__)

namespace tenon::kernels::inline TENON_TARGET {

/// How a product is cut for vectors of this width: rows and columns that registers hold the sums
/// of.
template <int width> struct ProductTile {
  static constexpr int64_t kRows = width == 16 ? 8 : 4;
  static constexpr int64_t kColumns = 2 * width;
};

/// Elements of a factor of `depth` rows and `columns` columns after packing, for any width.
inline int64_t packed_elements(int64_t depth, int64_t columns) {
  constexpr int64_t kMaxColumns = ProductTile<16>::kColumns;
  return depth * ((columns + kMaxColumns - 1) / kMaxColumns * kMaxColumns);
}

/// sums[r][j] += sum over k of left[r][k] * packed[k][j], for one tile. `packed` holds a panel of
/// columns: kColumns floats for each k.
template <int width>
[[gnu::always_inline]] inline void add_tile(const float* left, int64_t left_step,
                                            const float* panel, int64_t depth, float* sums,
                                            int64_t sums_step) {
  using V = Vector<width>;
  constexpr int kRows = ProductTile<width>::kRows;
  V low[kRows], high[kRows];
  for (int r = 0; r < kRows; ++r) {
    low[r] = *reinterpret_cast<const V*>(sums + r * sums_step);
    high[r] = *reinterpret_cast<const V*>(sums + r * sums_step + width);
  }
  for (int64_t k = 0; k < depth; ++k) {
    const V a = *reinterpret_cast<const V*>(panel + k * 2 * width);
    const V b = *reinterpret_cast<const V*>(panel + k * 2 * width + width);
    for (int r = 0; r < kRows; ++r) {
      low[r] += left[r * left_step + k] * a;
      high[r] += left[r * left_step + k] * b;
    }
  }
  for (int r = 0; r < kRows; ++r) {
    *reinterpret_cast<V*>(sums + r * sums_step) = low[r];
    *reinterpret_cast<V*>(sums + r * sums_step + width) = high[r];
  }
}

/// sums += left * right, where `right` is packed in panels, `panel_step` floats apart. `rows` is a
/// multiple of kRows, and a row of `sums` has room for whole panels.
template <int width>
[[gnu::always_inline]] inline void add_product(const float* left, int64_t left_step, int64_t rows,
                                               const float* packed, int64_t panel_step,
                                               int64_t depth, float* sums, int64_t sums_step,
                                               int64_t columns) {
  using Tile = ProductTile<width>;
  for (int64_t j = 0; j < columns; j += Tile::kColumns, packed += panel_step)
    for (int64_t r = 0; r < rows; r += Tile::kRows)
      add_tile<width>(left + r * left_step, left_step, packed, depth, sums + r * sums_step + j,
                      sums_step);
}

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
