/// Scaled dot-product attention with its weights: torch.nn.functional.scaled_dot_product_attention,
/// and softmax(q k^T / sqrt(E) + mask) beside it.
#pragma once

#include <cmath>

#include "tenon/kernels/product.h"
#include "tenon/kernels/softmax.h"
#include "tenon/plugin/convert.h"
#include "tenon/plugin/device.h"

namespace tenon::kernels::inline TENON_TARGET {

/// q (batches, queries, features), k and v (batches, keys, features), mask (queries, keys) or
/// (batches, queries, keys) or null, added; y like q, weights (batches, queries, keys).
template <class E> struct Attention {
  const E *q, *k, *v, *mask;
  E *y, *weights;
  int64_t batches, queries, keys, features;
  bool mask_has_batches;

  TENON_HD int64_t mask_at(int64_t batch, int64_t query) const {
    return ((mask_has_batches ? batch * queries : 0) + query) * keys;
  }
  TENON_HD float scale() const { return 1 / sqrtf(static_cast<float>(features)); }
};

/// Bytes of workspace: the weights in float.
inline size_t attention_workspace(int64_t batches, int64_t queries, int64_t keys) {
  return static_cast<size_t>(batches * queries * keys) * sizeof(float);
}

#if !defined(__CUDACC__)

// A block of queries of one batch. Both products are sums over panels of the right factor, which
// are packed as they are met.
template <class E> struct AttentionBlock {
  static constexpr int64_t kRows = 32, kDepth = 64, kMaxColumns = 32;

  const Attention<E>& a;
  float* scores;  // of this block: rows x keys
  int64_t batch, query, rows;

  template <int width> void run() const {
    constexpr int64_t kColumns = ProductTile<width>::kColumns;
    for (int64_t at = 0; at < a.keys; at += kColumns) score<width>(at);
    for (int64_t r = 0; r < rows; ++r) {
      softmax<width>(scores + r * a.keys, a.keys);
      kit::convert(scores + r * a.keys, a.weights + (first_query() + r) * a.keys, a.keys);
    }
    for (int64_t at = 0; at < a.features; at += kColumns) mix<width>(at);
  }

 private:
  int64_t first_query() const { return batch * a.queries + query; }

  // Columns [at, at + kColumns) of q k^T, scaled and masked.
  template <int width> void score(int64_t at) const {
    constexpr int64_t kColumns = ProductTile<width>::kColumns;
    const int64_t columns = std::min(kColumns, a.keys - at);
    alignas(64) float sums[kRows * kMaxColumns] = {}, left[kRows * kDepth] = {};
    alignas(64) float panel[kDepth * kMaxColumns] = {}, row[kDepth];
    for (int64_t from = 0; from < a.features; from += kDepth) {
      const int64_t depth = std::min(kDepth, a.features - from);
      for (int64_t r = 0; r < rows; ++r)
        kit::convert(a.q + (first_query() + r) * a.features + from, left + r * kDepth, depth);
      for (int64_t j = 0; j < columns; ++j) {
        kit::convert(a.k + (batch * a.keys + at + j) * a.features + from, row, depth);
        for (int64_t i = 0; i < depth; ++i) panel[i * kColumns + j] = row[i];
      }
      add_product<width>(left, kDepth, kRows, panel, 0, depth, sums, kMaxColumns, kColumns);
    }
    const float scale = a.scale();
    for (int64_t r = 0; r < rows; ++r) {
      float* to = scores + r * a.keys + at;
      for (int64_t j = 0; j < columns; ++j) to[j] = sums[r * kMaxColumns + j] * scale;
      if (a.mask == nullptr) continue;
      const E* mask = a.mask + a.mask_at(batch, query + r) + at;
      for (int64_t j = 0; j < columns; ++j) to[j] += static_cast<float>(mask[j]);
    }
  }

  // A row without any weight (all masked) becomes NaN, as in PyTorch.
  template <int width> static void softmax(float* x, int64_t n) {
    const float sum = exponentials<width>(x, n, largest_of<width>(x, n));
    for (int64_t i = 0; i < n; ++i) x[i] /= sum;
  }

  // Columns [at, at + kColumns) of weights v.
  template <int width> void mix(int64_t at) const {
    constexpr int64_t kColumns = ProductTile<width>::kColumns;
    const int64_t columns = std::min(kColumns, a.features - at);
    alignas(64) float sums[kRows * kMaxColumns] = {}, left[kRows * kDepth] = {};
    alignas(64) float panel[kDepth * kMaxColumns] = {};
    for (int64_t from = 0; from < a.keys; from += kDepth) {
      const int64_t depth = std::min(kDepth, a.keys - from);
      for (int64_t r = 0; r < rows; ++r)
        std::copy_n(scores + r * a.keys + from, depth, left + r * kDepth);
      for (int64_t i = 0; i < depth; ++i)
        kit::convert(a.v + (batch * a.keys + from + i) * a.features + at, panel + i * kColumns,
                     columns);
      add_product<width>(left, kDepth, kRows, panel, 0, depth, sums, kMaxColumns, kColumns);
    }
    for (int64_t r = 0; r < rows; ++r)
      kit::convert(sums + r * kMaxColumns, a.y + (first_query() + r) * a.features + at, columns);
  }
};

template <class E> void attend(const kit::Device& device, const Attention<E>& a) {
  using Block = AttentionBlock<E>;
  const int64_t blocks = (a.queries + Block::kRows - 1) / Block::kRows;
  auto* scores = static_cast<float*>(device.workspace);
  device.parallel_ranges(a.batches * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t batch = i / blocks, query = i % blocks * Block::kRows;
      const Block block{a, scores + (batch * a.queries + query) * a.keys, batch, query,
                        std::min(Block::kRows, a.queries - query)};
      with_wide_vectors([&](auto width) { block.template run<width>(); });
    }
  });
}

#else

template <class E> struct AttentionScore {
  Attention<E> a;
  float* scores;
  __device__ void operator()(int64_t i) const {
    const int64_t key = i % a.keys, query = i / a.keys % a.queries, batch = i / a.keys / a.queries;
    const E *q = a.q + i / a.keys * a.features, *k = a.k + (batch * a.keys + key) * a.features;
    float sum = 0;
    for (int64_t f = 0; f < a.features; ++f)
      sum += static_cast<float>(q[f]) * static_cast<float>(k[f]);
    sum *= a.scale();
    if (a.mask != nullptr) sum += static_cast<float>(a.mask[a.mask_at(batch, query) + key]);
    scores[i] = sum;
  }
};

template <class E> struct AttentionRow {
  Attention<E> a;
  float* scores;
  __device__ void operator()(const kit::Team& team, int64_t row) const {
    float* x = scores + row * a.keys;
    E* weights = a.weights + row * a.keys;
    float max = -HUGE_VALF;
    for (int64_t i = 0; i < a.keys; ++i) max = x[i] > max ? x[i] : max;
    const float sum = team.sum(a.keys, [&](int64_t i) { return expf(x[i] - max); });
    __syncthreads();
    team.each(a.keys, [&](int64_t i) {
      x[i] = expf(x[i] - max) / sum;
      weights[i] = static_cast<E>(x[i]);
    });
    __syncthreads();
    team.each(a.features, [&](int64_t f) {
      const E* v = a.v + row / a.queries * a.keys * a.features + f;
      float mixed = 0;
      for (int64_t i = 0; i < a.keys; ++i) mixed += x[i] * static_cast<float>(v[i * a.features]);
      a.y[row * a.features + f] = static_cast<E>(mixed);
    });
  }
};

template <class E> void attend(const kit::Device& device, const Attention<E>& a) {
  auto* scores = static_cast<float*>(device.workspace);
  device.parallel_for(a.batches * a.queries * a.keys, AttentionScore<E>{a, scores});
  device.parallel_rows(a.batches * a.queries, AttentionRow<E>{a, scores});
}

#endif

}  // namespace tenon::kernels::inline TENON_TARGET
