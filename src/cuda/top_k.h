// Selections along an axis as their .cu file has them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/sort.h"

namespace tenon::cuda {

/// `outer` times `inner` rows of `length` elements that are `inner` apart; the first `k` of each in
/// order, and their positions. Of equal ones the lower position comes first, or with `last_index`
/// the higher one; a NaN is greater than every number, or with `nans_first` comes first.
struct TopRows {
  const void* data;
  void* values;
  void* indices;  // int32, or int64 if is_wide
  int32_t type;   // a DataType
  bool is_wide, smallest, last_index, nans_first;
  int64_t outer, length, inner, k;

  constexpr int64_t rows() const { return outer * inner; }
};

/// One element of each row.
void launch_top_one(const TopRows& rows, cudaStream_t stream);

/// Some elements: a block for each row finds them digit by digit, and sorts them.
constexpr int64_t kMaxSelected = 2048;
void launch_top_some(const TopRows& rows, cudaStream_t stream);

/// All elements are sorted, at most INT32_MAX of them.
void launch_top_all(const TopRows& rows, SortedPairs pairs, void* scratch, size_t scratch_bytes,
                    cudaStream_t stream);

}  // namespace tenon::cuda
