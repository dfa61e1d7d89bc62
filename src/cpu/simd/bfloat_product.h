// Products of float32 matrices whose elements are rounded to bfloat16; sums are float32.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace tenon::cpu {

/// Rows of the left matrix are multiplied in tiles of 16, columns of the right one too, and so many
/// elements of both at a time.
constexpr int64_t kBfloatTile = 16, kBfloatStep = 32;

inline int64_t bfloat_steps(int64_t depth) {
  return (depth + kBfloatStep - 1) / kBfloatStep;
}
/// 16-bit elements of so many rows or columns of `depth` elements when they are packed: tiles, in
/// each of which step lies behind step. Elements behind the last of a row or column are 0, and so
/// are columns behind the last; rows there are anything.
inline int64_t bfloat_elements(int64_t count, int64_t depth) {
  return (count + kBfloatTile - 1) / kBfloatTile * kBfloatTile * bfloat_steps(depth) * kBfloatStep;
}

/// Float32 rows. Their elements come in vectors of 16, which lie `vector_step` floats apart: 16
/// where rows are contiguous.
struct FloatRows {
  const float* first;
  int64_t row_step, vector_step, rows, depth;
};

/// Of a product: rounded rows. A row's elements of a step are neighbours, and the next row's
/// follow.
struct BfloatRows {
  const uint16_t* first;
  int64_t rows, steps;
  /// Elements from the first step to each, and from a tile of rows to the next.
  const int64_t* offsets;
  int64_t tile_step;
  /// Rows come in lines of so many, of which some at the end may be unused. Before the first row
  /// are so many of its line.
  int64_t line = std::numeric_limits<int64_t>::max(), used = line, position = 0;
};
/// Packed columns, and so many more that will be wanted next; null: none.
struct BfloatColumns {
  const uint16_t* first;
  int64_t columns;
  const uint16_t* next;
};
/// Where results lie, from the first row of the first line on: those of 16 columns are neighbours;
/// then come the next columns, and the next row that is used, so many floats away. They are sums,
/// plus a bias for each column, plus an addend, which lies as they do, within bounds. NaN stays.
struct BfloatResults {
  float* first;
  int64_t row_step, tile_step;
  const float* bias = nullptr;  // filled up to whole tiles; null: none
  const float* addend = nullptr;
  float lower = -std::numeric_limits<float>::infinity();
  float upper = std::numeric_limits<float>::infinity();
};

struct BfloatKernels {
  const char* instruction_set;
  void (*product)(const BfloatRows& rows, const BfloatColumns& columns,
                  const BfloatResults& results);
  /// Rounds and packs rows, times a factor.
  void (*pack_rows)(const FloatRows& rows, float factor, uint16_t* to);
  /// Rounds and packs columns of a matrix of `depth` rows.
  void (*pack_columns)(const float* from, int64_t row_step, int64_t columns, int64_t depth,
                       uint16_t* to);
  /// The same of its transpose, whose rows are the columns.
  void (*pack_transposed)(const float* from, int64_t row_step, int64_t columns, int64_t depth,
                          uint16_t* to);
};

/// Those that this processor runs, the best last: AVX-512's, and AMX's.
std::vector<const BfloatKernels*> supported_bfloat_kernels();
/// The best of them; null where there are none.
const BfloatKernels* bfloat_kernels();

/// BfloatRows::offsets of packed rows.
std::vector<int64_t> packed_offsets(int64_t depth);

namespace avx512 {
extern const BfloatKernels kBfloatKernels, kAmxBfloatKernels;
}  // namespace avx512

}  // namespace tenon::cpu
