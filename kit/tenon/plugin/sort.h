/// The order of a row's elements: always the same one, and without allocating.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/plugin/elements.h"
#include "tenon/plugin/team.h"

namespace tenon {
namespace kit {

/// Indices of one row while it is sorted.
TENON_HD inline int64_t sort_stride(int64_t n) {
  int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}
/// Bytes that Device::top_k wants.
inline size_t sort_workspace(int64_t rows, int64_t n) {
  return static_cast<size_t>(std::max<int64_t>(rows, 0) * sort_stride(n)) * sizeof(int32_t);
}

inline namespace TENON_TARGET {

#if !defined(__CUDACC__)

/// `all` holds n indices while this works.
template <class Before>
void sort_row(int64_t row, int64_t n, int64_t k, const Before& before, int32_t* all,
              int32_t* order) {
  for (int64_t i = 0; i < n; ++i) all[i] = static_cast<int32_t>(i);
  const auto first = [&](int32_t a, int32_t b) {
    return before(row, a, b) || (!before(row, b, a) && a < b);
  };
  k = std::min(k, n);
  if (k < n / 8) {
    std::partial_sort(all, all + k, all + n, first);
  } else {
    if (k < n) std::nth_element(all, all + k, all + n, first);
    std::sort(all, all + k, first);
  }
  std::copy(all, all + k, order);
}

#else

// A bitonic sort. Positions behind the row have indices from n on, and stay last.
template <class Before> struct SortRow {
  int64_t n, k;
  Before before;
  int32_t* scratch;
  int32_t* order;

  __device__ bool comes_first(int64_t row, int32_t a, int32_t b) const {
    if (a >= n || b >= n) return a < b;
    return before(row, a, b) || (!before(row, b, a) && a < b);
  }
  __device__ void operator()(const Team& team, int64_t row) const {
    const int64_t size = sort_stride(n);
    int32_t* all = scratch + row * size;
    team.each(size, [&](int64_t i) { all[i] = static_cast<int32_t>(i); });
    __syncthreads();
    for (int64_t run = 2; run <= size; run *= 2)
      for (int64_t distance = run / 2; distance > 0; distance /= 2) {
        team.each(size, [&](int64_t i) {
          const int64_t j = i ^ distance;
          if (j <= i) return;
          const bool ascending = (i & run) == 0;
          if (comes_first(row, all[j], all[i]) == ascending) {
            const int32_t other = all[i];
            all[i] = all[j];
            all[j] = other;
          }
        });
        __syncthreads();
      }
    team.each(k < n ? k : n, [&](int64_t i) { order[row * k + i] = all[i]; });
    __syncthreads();
  }
};

#endif

}  // namespace TENON_TARGET
}  // namespace kit
}  // namespace tenon
