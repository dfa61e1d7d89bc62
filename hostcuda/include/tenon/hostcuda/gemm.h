/// Products of matrices, as cuBLAS and cuBLASLt need them.
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

/// A matrix in memory: element (i, j) is data[i * row_step + j * column_step].
template <class T> struct Matrix {
  T* data;
  long row_step, column_step;

  T* at(long i, long j) const { return data + i * row_step + j * column_step; }
};
/// As cuBLAS has them: columns lie one after another, `step` apart, or rows if it is transposed.
template <class T> Matrix<T> matrix(T* data, long step, bool is_transposed) {
  return is_transposed ? Matrix<T>{data, step, 1} : Matrix<T>{data, 1, step};
}

/// Lines of floats for a panel: to[place * width + line].
template <class T>
void pack(const T* from, long line_step, long place_step, int lines, int places, float* to,
          int width) {
  if (line_step == 1)
    for (long p = 0; p < places; ++p)
      for (long i = 0; i < lines; ++i)
        to[p * width + i] = static_cast<float>(from[p * place_step + i]);
  else
    for (long i = 0; i < lines; ++i)
      for (long p = 0; p < places; ++p)
        to[p * width + i] = static_cast<float>(from[i * line_step + p * place_step]);
}

/// multiply() for one part: `rows` from `row` on, and as many columns. Elements are read and
/// written here, where sanitizers of the source see them.
template <class A, class B, class Finish>
void multiply_part(long row, int rows, long column, int columns, long k, Matrix<A> a, Matrix<B> b,
                   const Finish& finish) {
  constexpr int kDepth = 256;
  const int all_rows = whole_steps(rows, kRowsAtOnce);
  const int all_columns = whole_steps(columns, kColumnsAtOnce);
  static thread_local std::vector<float> left, right, sums;
  left.resize(static_cast<std::size_t>(all_rows) * kDepth);
  right.resize(static_cast<std::size_t>(all_columns) * kDepth);
  sums.assign(static_cast<std::size_t>(all_rows) * all_columns, 0.f);
  for (long first = 0; first < k; first += kDepth) {
    const auto depth = static_cast<int>(std::min<long>(kDepth, k - first));
    pack(a.at(row, first), a.row_step, a.column_step, rows, depth, left.data(), all_rows);
    pack(b.at(first, column), b.column_step, b.row_step, columns, depth, right.data(), all_columns);
    multiply_panels(sums.data(), all_rows, all_columns, depth, left.data(), right.data());
  }
  for (long j = 0; j < columns; ++j)
    for (long i = 0; i < rows; ++i) finish(row + i, column + j, sums[j * all_rows + i]);
}

/// Calls finish(i, j, sum) for each element of a b, where a is m x k and b k x n: from several
/// threads, each element once.
template <class Sum, class A, class B, class Finish>
void multiply(long m, long n, long k, Matrix<A> a, Matrix<B> b, const Finish& finish) {
  if constexpr (std::is_same_v<Sum, float>) {
    constexpr int kRows = 128, kColumns = 48;
    const long across = (m + kRows - 1) / kRows, along = (n + kColumns - 1) / kColumns;
    return for_each(across * along, [&](long index) {
      const long row = index % across * kRows, column = index / across * kColumns;
      multiply_part(row, std::min<int>(kRows, m - row), column, std::min<int>(kColumns, n - column),
                    k, a, b, finish);
    });
  }
  constexpr int kRows = 256;  // at a time: partial sums stay in the first-level cache
  const long panels = (m + kRows - 1) / kRows;
  for_each(panels * n, [&](long index) {
    const long column = index / panels, first = index % panels * kRows;
    const auto rows = static_cast<int>(std::min<long>(kRows, m - first));
    Sum sums[kRows] = {};
    for (long p = 0; p < k; ++p) {
      const auto factor = static_cast<Sum>(*b.at(p, column));
      const A* const from = a.at(first, p);
      if (a.row_step == 1)
        for (int i = 0; i < rows; ++i) sums[i] += static_cast<Sum>(from[i]) * factor;
      else
        for (int i = 0; i < rows; ++i) sums[i] += static_cast<Sum>(from[i * a.row_step]) * factor;
    }
    for (int i = 0; i < rows; ++i) finish(first + i, column, sums[i]);
  });
}

}  // namespace tenon::hostcuda
