// What a query may see: shared by the kernels of attention.
#pragma once

#include "cuda/attention.h"
#include "cuda/elements.cuh"

namespace tenon::cuda {

/// Keys in [first, end) are seen, as far as the mask allows.
struct Visible {
  int first, end;
};

__device__ inline int64_t number(const AttentionParameters::Numbers& numbers, int64_t batch,
                                 int64_t otherwise) {
  if (numbers.data == nullptr) return otherwise;
  const int64_t at = batch * numbers.step;
  return numbers.type == DataType::kINT64 ? static_cast<const int64_t*>(numbers.data)[at]
                                          : static_cast<const int32_t*>(numbers.data)[at];
}

__device__ inline Visible visible(const AttentionParameters& p, int64_t batch, int query) {
  const int64_t at = query + number(p.offsets, batch, 0), keys = p.keys;
  int64_t first = 0, end = min(number(p.lengths, batch, keys), keys);
  if (p.causal) end = min(end, at + 1);
  if (p.right_window >= 0) end = min(end, at + p.right_window + 1);
  if (p.left_window >= 0) first = at - p.left_window;
  if (p.mask != nullptr) end = min(end, static_cast<int64_t>(p.mask_keys));
  end = max(end, int64_t{0});
  first = min(max(first, int64_t{0}), end);
  return {static_cast<int>(first), static_cast<int>(end)};
}

/// What neighbouring queries see together: bounds grow from one to the next.
struct VisibleTogether {
  Visible first, last;  // query's
  __device__ VisibleTogether(const AttentionParameters& p, int64_t batch, int first_query,
                             int last_query)
      : first(visible(p, batch, first_query)), last(visible(p, batch, last_query)) {}
  /// A multiple of `step`.
  __device__ int begin(int step) const { return first.first / step * step; }
  __device__ int end() const { return last.end; }
  /// All of these keys by each of the queries.
  __device__ bool all(int from, int to) const { return last.first <= from && to <= first.end; }
};

/// What the mask adds to a score: -infinity for a key that is not seen.
template <class T> __device__ float masked(const AttentionParameters& p, int64_t row, int key) {
  const int64_t at = row + key * p.mask_steps[3];
  if (p.mask_type == DataType::kBOOL) return static_cast<const bool*>(p.mask)[at] ? 0.f : -INFINITY;
  return to_float(static_cast<const T*>(p.mask)[at]);
}

__device__ inline int64_t mask_row(const AttentionParameters& p, int64_t batch, int head,
                                   int query) {
  return batch * p.mask_steps[0] + head * p.mask_steps[1] + query * p.mask_steps[2];
}

template <class T>
const __device__ T* vectors(const AttentionParameters::Vectors& v, int64_t batch, int head) {
  return static_cast<const T*>(v.data) + v.offset + batch * v.batch_step + head * v.head_step;
}

/// What is stored of numbers: T, or bytes.
template <class T, class Rule> __device__ uint8_t byte_of(const Rule& byte, float x) {
  return byte(to_float(from_float<T>(x)));
}
/// Two neighbours.
template <class T, class Rule>
__device__ uint16_t bytes_of(const Rule& byte, float low, float high) {
  return static_cast<uint16_t>(byte_of<T>(byte, low) | byte_of<T>(byte, high) << 8);
}

/// The result's elements, T or uint8_t.
template <class T> __device__ T* result_of(const AttentionParameters& p, int64_t batch, int head) {
  return const_cast<T*>(vectors<T>(p.result, batch, head));
}

}  // namespace tenon::cuda
