// Products of bfloat16 with AVX-512 BF16, and with AMX's tiles.
#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <limits>

#include "cpu/simd/bfloat_product.h"
#include "cpu/simd/tile_configuration.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kTileElements = kBfloatTile * kBfloatStep;
constexpr int64_t kRowBytes = 64;  // of a tile
constexpr int64_t kPairs = kBfloatStep / 2;

int64_t units(int64_t count, int64_t unit) {
  return (count + unit - 1) / unit;
}

__mmask16 first_lanes(int64_t count) {
  return static_cast<__mmask16>((1u << std::clamp<int64_t>(count, 0, 16)) - 1);
}

__m512i in_pairs(__m512 low, __m512 high) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

// Two neighbouring vectors of a row, rounded, from element k on.
__m512i rounded(const float* row, int64_t vector_step, int64_t k, int64_t depth, __m512 factor) {
  const float* const from = row + k / 16 * vector_step;
  const __m512 low = _mm512_maskz_loadu_ps(first_lanes(depth - k), from);
  const __m512 high = _mm512_maskz_loadu_ps(first_lanes(depth - k - 16), from + vector_step);
  return in_pairs(_mm512_mul_ps(low, factor), _mm512_mul_ps(high, factor));
}

void pack_rows(const FloatRows& of, float factor, uint16_t* to) {
  const __m512 factors = _mm512_set1_ps(factor);
  const int64_t steps = bfloat_steps(of.depth);
  for (int64_t first = 0; first < of.rows; first += kBfloatTile) {
    const int64_t rows = std::min(kBfloatTile, of.rows - first);
    for (int64_t step = 0; step < steps; ++step, to += kTileElements) {
      const float* row = of.first + first * of.row_step;
      for (int64_t r = 0; r < rows; ++r, row += of.row_step)
        _mm512_storeu_si512(to + r * kBfloatStep,
                            rounded(row, of.vector_step, step * kBfloatStep, of.depth, factors));
    }
  }
}

void pack_columns(const float* from, int64_t row_step, int64_t columns, int64_t depth,
                  uint16_t* to) {
  alignas(64) uint16_t order[32];
  for (int i = 0; i < 16; ++i) {
    order[2 * i] = static_cast<uint16_t>(i);
    order[2 * i + 1] = static_cast<uint16_t>(16 + i);
  }
  const __m512i alternating = _mm512_load_si512(order);
  const int64_t padded = bfloat_steps(depth) * kBfloatStep;
  for (int64_t first = 0; first < columns; first += kBfloatTile) {
    const __mmask16 lanes = first_lanes(columns - first);
    for (int64_t k = 0; k < padded; k += 2, to += kBfloatStep) {
      const float* const row = from + k * row_step + first;
      const __m512 low = _mm512_maskz_loadu_ps(k < depth ? lanes : 0, row);
      const __m512 high = _mm512_maskz_loadu_ps(k + 1 < depth ? lanes : 0, row + row_step);
      _mm512_storeu_si512(to, _mm512_permutexvar_epi16(alternating, in_pairs(low, high)));
    }
  }
}

// A tile of 16 x 16 pairs, turned.
void turn(__m512i (&rows)[16], uint16_t* to) {
  __m512i a[16], b[16];
  for (int i = 0; i < 16; i += 2) {
    a[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 16; i += 4)
    for (int j = 0; j < 2; ++j) {
      b[i + 2 * j] = _mm512_unpacklo_epi64(a[i + j], a[i + j + 2]);
      b[i + 2 * j + 1] = _mm512_unpackhi_epi64(a[i + j], a[i + j + 2]);
    }
  // b[4 * i + j] holds, in lane l of 128 bits, pair 4 * l + j of rows 4 * i and on.
  for (int j = 0; j < 4; ++j) {
    const __m512i even = _mm512_shuffle_i32x4(b[j], b[4 + j], 0x88);
    const __m512i odd = _mm512_shuffle_i32x4(b[j], b[4 + j], 0xdd);
    const __m512i even_behind = _mm512_shuffle_i32x4(b[8 + j], b[12 + j], 0x88);
    const __m512i odd_behind = _mm512_shuffle_i32x4(b[8 + j], b[12 + j], 0xdd);
    const __m512i turned[4] = {
        _mm512_shuffle_i32x4(even, even_behind, 0x88), _mm512_shuffle_i32x4(odd, odd_behind, 0x88),
        _mm512_shuffle_i32x4(even, even_behind, 0xdd), _mm512_shuffle_i32x4(odd, odd_behind, 0xdd)};
    for (int l = 0; l < 4; ++l) _mm512_storeu_si512(to + (4 * l + j) * kBfloatStep, turned[l]);
  }
}

void pack_transposed(const float* from, int64_t row_step, int64_t columns, int64_t depth,
                     uint16_t* to) {
  const __m512 one = _mm512_set1_ps(1);
  const int64_t steps = bfloat_steps(depth);
  for (int64_t first = 0; first < columns; first += kBfloatTile)
    for (int64_t step = 0; step < steps; ++step, to += kTileElements) {
      __m512i rows[16];
      for (int64_t r = 0; r < 16; ++r)
        rows[r] = first + r < columns
                      ? rounded(from + (first + r) * row_step, 16, step * kBfloatStep, depth, one)
                      : _mm512_setzero_si512();
      turn(rows, to);
    }
}

// A product under way.
struct Product {
  const BfloatRows& rows;
  const BfloatColumns& columns;
  const BfloatResults& results;

  const uint16_t* row(int64_t row) const {
    return rows.first + row / kBfloatTile * rows.tile_step + row % kBfloatTile * kBfloatStep;
  }
  const uint16_t* column(int64_t column) const {
    return columns.first + column * rows.steps * kBfloatStep;
  }
  // Where the results of a used row, and of 16 columns, begin.
  int64_t result(int64_t row, int64_t column) const {
    const int64_t of_lines = rows.position + row;
    return (of_lines / rows.line * rows.used + of_lines % rows.line) * results.row_step
           + column / kBfloatTile * results.tile_step;
  }

  // Adds, clamps and stores the results of a row and of up to 16 columns.
  void store(__m512 sum, int64_t row, int64_t column) const {
    if (row >= rows.rows || (rows.position + row) % rows.line >= rows.used) return;
    const __mmask16 lanes = first_lanes(columns.columns - column);
    const int64_t at = result(row, column);
    if (results.addend != nullptr)
      sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(lanes, results.addend + at));
    // The second operand is the result where one is NaN.
    sum = _mm512_max_ps(_mm512_set1_ps(results.lower), sum);
    sum = _mm512_min_ps(_mm512_set1_ps(results.upper), sum);
    _mm512_mask_storeu_ps(results.first + at, lanes, sum);
  }

  // Whether sums are the results, of so many rows and columns, which are all used and lie together.
  bool is_plain(int64_t row, int64_t row_count, int64_t column, int64_t column_count) const {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return results.addend == nullptr && results.lower == -kInfinity && results.upper == kInfinity
           && rows.rows - row >= row_count && columns.columns - column >= column_count
           && (rows.position + row) % rows.line + row_count <= rows.used;
  }
};

// Goes from one pair of tiles of columns to the next, and in each from one block of rows to the
// next.
template <class Multiply>
void for_blocks(const Product& p, int64_t block_rows, const Multiply& multiply) {
  for (int64_t column = 0; column < p.columns.columns; column += 2 * kBfloatTile)
    for (int64_t row = 0; row < p.rows.rows; row += block_rows) multiply(row, column);
}

// --- AVX-512 BF16: eight rows of one or two tiles of columns.

constexpr int64_t kVectorRows = 8;

template <int C> void add_vectors(const Product& p, int64_t row, int64_t column) {
  const uint16_t* const columns = p.column(column);
  const float* const bias = p.results.bias;
  __m512 sum[kVectorRows][C];
#pragma GCC unroll 8
  for (int r = 0; r < kVectorRows; ++r)
#pragma GCC unroll 2
    for (int c = 0; c < C; ++c)
      sum[r][c] = bias != nullptr ? _mm512_loadu_ps(bias + column + 16 * c) : _mm512_setzero_ps();
  for (int64_t step = 0; step < p.rows.steps; ++step) {
    const uint16_t* const rows = p.row(row) + p.rows.offsets[step];
    for (int64_t pair = 0; pair < kPairs; ++pair) {
      __m512bh factors[C];
#pragma GCC unroll 2
      for (int c = 0; c < C; ++c)
        factors[c] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(
            columns + (c * p.rows.steps + step) * kTileElements + pair * kBfloatStep));
#pragma GCC unroll 8
      for (int r = 0; r < kVectorRows; ++r) {
        int32_t of_row;
        __builtin_memcpy(&of_row, rows + r * kBfloatStep + 2 * pair, sizeof(of_row));
        const auto both = reinterpret_cast<__m512bh>(_mm512_set1_epi32(of_row));
#pragma GCC unroll 2
        for (int c = 0; c < C; ++c) sum[r][c] = _mm512_dpbf16_ps(sum[r][c], both, factors[c]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kVectorRows; ++r)
#pragma GCC unroll 2
    for (int c = 0; c < C; ++c) p.store(sum[r][c], row + r, column + 16 * c);
}

void product_by_vectors(const BfloatRows& rows, const BfloatColumns& columns,
                        const BfloatResults& results) {
  const Product p{rows, columns, results};
  for_blocks(p, kVectorRows, [&](int64_t row, int64_t column) {
    columns.columns - column > kBfloatTile ? add_vectors<2>(p, row, column)
                                           : add_vectors<1>(p, row, column);
  });
}

// --- AMX: one or two tiles of rows by one or two of columns. Tiles 0 to 3 hold sums, row tile by
// row tile, 4 and 5 rows, 6 and 7 columns.

constexpr TileConfiguration all_tiles_whole() {
  TileConfiguration c{};
  for (int i = 0; i < 8; ++i) {
    c.row_bytes[i] = kRowBytes;
    c.rows[i] = kBfloatTile;
  }
  return c;
}
alignas(64) constexpr TileConfiguration kAllTilesWhole = all_tiles_whole();

// Bytes that will be wanted.
struct Ahead {
  const char* first;
  int64_t bytes;
};

template <int R, int C>
void add_tiles(const Product& p, int64_t row, int64_t column, const Ahead& ahead) {
  const int64_t steps = p.rows.steps, second_row = p.rows.tile_step,
                second_column = steps * kTileElements;
  const uint16_t *rows = p.row(row), *columns = p.column(column);
  static constexpr float kNoBias[2 * kBfloatTile] = {};
  const float* const bias = p.results.bias != nullptr ? p.results.bias + column : kNoBias;
  // Each row of sums begins with the bias.
  _tile_loadd(0, bias, 0);
  if constexpr (C == 2) _tile_loadd(1, bias + kBfloatTile, 0);
  if constexpr (R == 2) _tile_loadd(2, bias, 0);
  if constexpr (R == 2 && C == 2) _tile_loadd(3, bias + kBfloatTile, 0);
  const char* next = ahead.first;
  const int64_t bytes =
      units(units(ahead.bytes, std::max<int64_t>(steps, 1)), kRowBytes) * kRowBytes;
  for (int64_t step = 0; step < steps; ++step, columns += kTileElements) {
    const uint16_t* const from = rows + p.rows.offsets[step];
    _tile_loadd(6, columns, kRowBytes);
    _tile_loadd(4, from, kRowBytes);
    if constexpr (C == 2) _tile_loadd(7, columns + second_column, kRowBytes);
    if constexpr (R == 2) _tile_loadd(5, from + second_row, kRowBytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (C == 2) _tile_dpbf16ps(1, 4, 7);
    if constexpr (R == 2) _tile_dpbf16ps(2, 5, 6);
    if constexpr (R == 2 && C == 2) _tile_dpbf16ps(3, 5, 7);
    for (int64_t i = 0; i < bytes; i += kRowBytes, next += kRowBytes)
      _mm_prefetch(next, _MM_HINT_T1);
  }
  if (p.is_plain(row, R * kBfloatTile, column, C * kBfloatTile)) {
    float* const out = p.results.first + p.result(row, column);
    const int64_t step = p.results.row_step, bytes_of_row = step * 4;
    _tile_stored(0, out, bytes_of_row);
    if constexpr (C == 2) _tile_stored(1, out + p.results.tile_step, bytes_of_row);
    if constexpr (R == 2) _tile_stored(2, out + kBfloatTile * step, bytes_of_row);
    if constexpr (R == 2 && C == 2)
      _tile_stored(3, out + kBfloatTile * step + p.results.tile_step, bytes_of_row);
    return;
  }
  alignas(64) float sums[R * C][kBfloatTile * kBfloatTile];
  _tile_stored(0, sums[0], kRowBytes);
  if constexpr (C == 2) _tile_stored(1, sums[1], kRowBytes);
  if constexpr (R == 2) _tile_stored(2, sums[C], kRowBytes);
  if constexpr (R == 2 && C == 2) _tile_stored(3, sums[3], kRowBytes);
  for (int64_t r = 0; r < R * kBfloatTile; ++r)
    for (int64_t c = 0; c < C; ++c)
      p.store(_mm512_load_ps(sums[r / kBfloatTile * C + c] + r % kBfloatTile * kBfloatTile),
              row + r, column + c * kBfloatTile);
}

void product_by_tiles(const BfloatRows& rows, const BfloatColumns& columns,
                      const BfloatResults& results) {
  _tile_loadconfig(&kAllTilesWhole);
  constexpr int64_t kPair = 2 * kBfloatTile;
  const Product p{rows, columns, results};
  const int64_t pair_bytes = 2 * rows.steps * kTileElements * 2, blocks = units(rows.rows, kPair);
  for_blocks(p, kPair, [&](int64_t row, int64_t column) {
    const bool is_last = columns.columns - column <= kPair;
    const auto* next =
        reinterpret_cast<const char*>(is_last ? columns.next : p.column(column + kPair));
    // Each block of rows prefetches a part of the next columns.
    const int64_t block = row / kPair;
    const int64_t begin = pair_bytes * block / blocks, end = pair_bytes * (block + 1) / blocks;
    const bool two_rows = rows.rows - row > kBfloatTile;
    const bool two_columns = columns.columns - column > kBfloatTile;
    const auto multiply = two_rows ? (two_columns ? add_tiles<2, 2> : add_tiles<2, 1>)
                                   : (two_columns ? add_tiles<1, 2> : add_tiles<1, 1>);
    multiply(p, row, column, {next + begin, next != nullptr ? end - begin : 0});
  });
  _tile_release();
}

}  // namespace

namespace avx512 {

extern const BfloatKernels kBfloatKernels = {"avx512_bf16", product_by_vectors, pack_rows,
                                             pack_columns, pack_transposed};
extern const BfloatKernels kAmxBfloatKernels = {"amx", product_by_tiles, pack_rows, pack_columns,
                                                pack_transposed};

}  // namespace avx512
}  // namespace tenon::cpu
#endif
