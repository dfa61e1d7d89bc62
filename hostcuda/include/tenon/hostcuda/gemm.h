/// Products of matrices as cuBLAS defines them: columns lie one after another.
#pragma once
#pragma GCC system_header

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "tenon/hostcuda/stream_work.h"

namespace tenon::hostcuda {

inline constexpr int kRowsAtOnce = 16, kColumnsAtOnce = 6;

/// sums += a b for panels: for each of `depth`, a has `rows` numbers and b has `columns`; columns
/// of sums lie one after another. Rows and columns are multiples of what is computed at once. In
/// the runtime, which is optimised whatever a source is compiled with.
void multiply_panels(float* sums, int rows, int columns, int depth, const float* a, const float* b);

/// `count` rounded up to a multiple of `step`.
inline int whole_steps(long count, int step) {
  return static_cast<int>((count + step - 1) / step * step);
}

/// Lines of floats for a panel: to[place * width + line]. A line lies in one piece where lines are
/// apart.
template <class T>
void pack(const T* from, long stride, bool lines_are_apart, int lines, int places, float* to,
          int width) {
  if (lines_are_apart)
    for (long i = 0; i < lines; ++i)
      for (long p = 0; p < places; ++p)
        to[p * width + i] = static_cast<float>(from[i * stride + p]);
  else
    for (long p = 0; p < places; ++p)
      for (long i = 0; i < lines; ++i) to[p * width + i] = static_cast<float>(from[p * stride + i]);
}

/// alpha op(a) op(b) + beta c for one part of c: `rows` from `row` on, and as many columns.
/// Elements are read and written here, where sanitizers of the source see them.
template <class A, class B, class C>
void multiply_part(bool a_is_transposed, bool b_is_transposed, long row, int rows, long column,
                   int columns, int k, float alpha, const A* a, long lda, const B* b, long ldb,
                   float beta, C* c, long ldc) {
  constexpr int kDepth = 256;
  const int all_rows = whole_steps(rows, kRowsAtOnce);
  const int all_columns = whole_steps(columns, kColumnsAtOnce);
  static thread_local std::vector<float> left, right, sums;
  left.resize(static_cast<std::size_t>(all_rows) * kDepth);
  right.resize(static_cast<std::size_t>(all_columns) * kDepth);
  sums.assign(static_cast<std::size_t>(all_rows) * all_columns, 0.f);
  for (long first = 0; first < k; first += kDepth) {
    const auto depth = static_cast<int>(std::min<long>(kDepth, k - first));
    pack(a_is_transposed ? a + first + row * lda : a + row + first * lda, lda, a_is_transposed,
         rows, depth, left.data(), all_rows);
    pack(b_is_transposed ? b + column + first * ldb : b + first + column * ldb, ldb,
         !b_is_transposed, columns, depth, right.data(), all_columns);
    multiply_panels(sums.data(), all_rows, all_columns, depth, left.data(), right.data());
  }
  for (long j = 0; j < columns; ++j)
    for (long i = 0; i < rows; ++i) {
      C& out = c[row + i + (column + j) * ldc];
      const float before = beta != 0 ? beta * static_cast<float>(out) : 0.f;
      out = static_cast<C>(alpha * sums[j * all_rows + i] + before);
    }
}

/// c = alpha op(a) op(b) + beta c, accumulated in `Sum`. c is m x n, and op(a) m x k.
template <class A, class B, class C, class Sum>
void multiply(bool a_is_transposed, bool b_is_transposed, int m, int n, int k, Sum alpha,
              const A* a, long lda, const B* b, long ldb, Sum beta, C* c, long ldc) {
  if constexpr (std::is_same_v<Sum, float>) {
    constexpr int kRows = 128, kColumns = 48;
    const long across = (m + kRows - 1) / kRows, along = (n + kColumns - 1) / kColumns;
    return for_each(across * along, [&](long index) {
      const long row = index % across * kRows, column = index / across * kColumns;
      multiply_part(a_is_transposed, b_is_transposed, row, std::min<int>(kRows, m - row), column,
                    std::min<int>(kColumns, n - column), k, alpha, a, lda, b, ldb, beta, c, ldc);
    });
  }
  constexpr int kRows = 256;  // of c at a time: partial sums stay in the first-level cache
  const long panels = (m + kRows - 1) / kRows;
  for_each(panels * n, [&](long index) {
    const auto column = index / panels;
    const int first = static_cast<int>(index % panels) * kRows, rows = std::min(kRows, m - first);
    Sum sums[kRows] = {};
    for (int p = 0; p < k; ++p) {
      const auto factor =
          static_cast<Sum>(b_is_transposed ? b[column + p * ldb] : b[p + column * ldb]);
      if (a_is_transposed)
        for (int i = 0; i < rows; ++i)
          sums[i] += static_cast<Sum>(a[p + (first + i) * lda]) * factor;
      else
        for (int i = 0; i < rows; ++i) sums[i] += static_cast<Sum>(a[first + i + p * lda]) * factor;
    }
    C* const out = c + first + column * ldc;
    for (int i = 0; i < rows; ++i)
      out[i] = static_cast<C>(alpha * sums[i]
                              + (beta != Sum{0} ? beta * static_cast<Sum>(out[i]) : Sum{0}));
  });
}

}  // namespace tenon::hostcuda
