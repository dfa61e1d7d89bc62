// Adds the product of a few rows with a packed matrix: small enough for the steps of a recurrent
// layer, where a library's call would cost more than the product.
#pragma once

#include <cstdint>

namespace tenon::cpu {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorFloats = 16, kBlockRows = 8, kBlockPanels = 2, kRowPanels = 8;
#elif defined(__AVX2__)
constexpr int kVectorFloats = 8, kBlockRows = 6, kBlockPanels = 1, kRowPanels = 4;
#else
constexpr int kVectorFloats = 4, kBlockRows = 2, kBlockPanels = 1, kRowPanels = 2;
#endif
constexpr int kPanelFloats = 16, kPanelVectors = kPanelFloats / kVectorFloats;
typedef float Vector __attribute__((vector_size(kVectorFloats * 4), aligned(4), may_alias));

// c[r][j] += sum of a[r][k] * b[k][j] for R rows and P panels, of which `columns` are wanted.
template <int R, int P>
void add_block(const float* a, int64_t a_step, const float* packed, int64_t depth, float* c,
               int64_t c_step, int64_t columns) {
  Vector sum[R][P][kPanelVectors] = {};
  for (int64_t k = 0; k < depth; ++k)
    for (int p = 0; p < P; ++p)
      for (int v = 0; v < kPanelVectors; ++v) {
        const Vector b = *reinterpret_cast<const Vector*>(packed + (p * depth + k) * kPanelFloats
                                                          + v * kVectorFloats);
        for (int r = 0; r < R; ++r) sum[r][p][v] += a[r * a_step + k] * b;
      }
  if (columns >= P * kPanelFloats) {
    for (int r = 0; r < R; ++r)
      for (int p = 0; p < P; ++p)
        for (int v = 0; v < kPanelVectors; ++v)
          *reinterpret_cast<Vector*>(c + r * c_step + p * kPanelFloats + v * kVectorFloats) +=
              sum[r][p][v];
    return;
  }
  const auto* sums = reinterpret_cast<const float*>(sum);
  for (int r = 0; r < R; ++r)
    for (int64_t j = 0; j < columns; ++j) c[r * c_step + j] += sums[r * P * kPanelFloats + j];
}

// All columns for R rows.
template <int R, int P>
void add_rows(const float* a, int64_t a_step, const float* packed, int64_t depth, float* c,
              int64_t c_step, int64_t columns) {
  constexpr int64_t kColumns = P * kPanelFloats;
  int64_t j = 0;
  // The last block may have fewer columns, but its panels must all be there.
  for (; j + kColumns - kPanelFloats < columns; j += kColumns)
    add_block<R, P>(a, a_step, packed + j * depth, depth, c + j, c_step, columns - j);
  for (; j < columns; j += kPanelFloats)
    add_block<R, 1>(a, a_step, packed + j * depth, depth, c + j, c_step, columns - j);
}

void add_product(const float* a, int64_t a_step, int64_t rows, const float* packed, int64_t depth,
                 float* c, int64_t c_step, int64_t columns) {
  int64_t r = 0;
  for (; r + kBlockRows <= rows; r += kBlockRows)
    add_rows<kBlockRows, kBlockPanels>(a + r * a_step, a_step, packed, depth, c + r * c_step,
                                       c_step, columns);
  for (; r + 2 <= rows; r += 2)
    add_rows<2, kBlockPanels>(a + r * a_step, a_step, packed, depth, c + r * c_step, c_step,
                              columns);
  if (r < rows)
    add_rows<1, kRowPanels>(a + r * a_step, a_step, packed, depth, c + r * c_step, c_step, columns);
}

}  // namespace
}  // namespace tenon::cpu
