// Adds the product of a few rows with a packed matrix: small enough for the steps of a recurrent
// layer, where a library's call would cost more than the product.
#pragma once

#include <cstdint>
#include <utility>

namespace tenon::cpu {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorFloats = 16, kBlockRows = 8, kBlockPanels = 2, kRowPanels = 4;
#elif defined(__AVX2__)
constexpr int kVectorFloats = 8, kBlockRows = 6, kBlockPanels = 1, kRowPanels = 4;
#else
constexpr int kVectorFloats = 4, kBlockRows = 2, kBlockPanels = 1, kRowPanels = 2;
#endif
constexpr int kPanelFloats = 16, kPanelVectors = kPanelFloats / kVectorFloats;
typedef float Vector __attribute__((vector_size(kVectorFloats * 4), aligned(4), may_alias));

// Of a product: c[r][j] += sum of a[r][k] * b[k][j].
struct Factors {
  const float* a;
  int64_t a_step, rows;
  const float* packed;
  int64_t depth;
  float* c;
  int64_t c_step, columns;
};

// R rows of P panels from `row` and column j on.
template <int R, int P> void add_block(const Factors& of, int64_t row, int64_t j) {
  constexpr int kVectors = P * kPanelVectors;
  const float *a = of.a + row * of.a_step, *packed = of.packed + j * of.depth;
  Vector sum[R][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sum[r][v] = Vector{};
  for (int64_t k = 0; k < of.depth; ++k) {
    Vector b[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v)
      b[v] = *reinterpret_cast<const Vector*>(packed
                                              + (v / kPanelVectors * of.depth + k) * kPanelFloats
                                              + v % kPanelVectors * kVectorFloats);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sum[r][v] += a[r * of.a_step + k] * b[v];
  }
  const int64_t columns = of.columns - j;
  const bool is_whole = columns >= P * kPanelFloats;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      const int first = v * kVectorFloats;
      float* c = of.c + (row + r) * of.c_step + j + first;
      if (is_whole) {
        *reinterpret_cast<Vector*>(c) += sum[r][v];
      } else {
        for (int i = 0; i < kVectorFloats && first + i < columns; ++i) c[i] += sum[r][v][i];
      }
    }
}

// All rows of P panels, which stay in the L1 cache meanwhile, in blocks of nearly the same
// number of rows.
template <int P, int... R>
void add_panels(std::integer_sequence<int, R...>, const Factors& of, int64_t j) {
  constexpr int64_t kMax = sizeof...(R);
  static constexpr decltype(&add_block<1, P>) blocks[] = {add_block<R + 1, P>...};
  const int64_t count = (of.rows + kMax - 1) / kMax;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = of.rows * i / count, end = of.rows * (i + 1) / count;
    blocks[end - first - 1](of, first, j);
  }
}

// Columns from j on, as long as there are P panels, the last of which may be filled up. Returns
// where it ends.
template <int P, int Rows> int64_t add_columns(const Factors& of, int64_t j) {
  constexpr int64_t kColumns = P * kPanelFloats;
  for (; j + kColumns - kPanelFloats < of.columns; j += kColumns)
    add_panels<P>(std::make_integer_sequence<int, Rows>(), of, j);
  return j;
}

void add_product(const float* a, int64_t a_step, int64_t rows, const float* packed, int64_t depth,
                 float* c, int64_t c_step, int64_t columns) {
  const Factors of = {a, a_step, rows, packed, depth, c, c_step, columns};
  int64_t j = 0;
  // A single row keeps the processor busy with as many panels as possible.
  if (rows == 1) j = add_columns<kRowPanels / 2, 1>(of, add_columns<kRowPanels, 1>(of, j));
  add_columns<1, kBlockRows>(of, add_columns<kBlockPanels, kBlockRows>(of, j));
}

}  // namespace
}  // namespace tenon::cpu
