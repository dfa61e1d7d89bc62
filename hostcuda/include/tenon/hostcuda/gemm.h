/// Products of matrices as cuBLAS defines them: columns lie one after another.
#pragma once
#pragma GCC system_header

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tenon/hostcuda/stream_work.h"

namespace tenon::hostcuda {

/// c = alpha op(a) op(b) + beta c, accumulated in `Sum`. c is m x n, and op(a) m x k.
template <class A, class B, class C, class Sum>
void multiply(bool a_is_transposed, bool b_is_transposed, int m, int n, int k, Sum alpha,
              const A* a, long lda, const B* b, long ldb, Sum beta, C* c, long ldc) {
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
