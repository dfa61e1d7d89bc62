/// Attention of several heads, without a tensor of weights: softmax(scale q k^T + bias) v.
///
/// Fronts gather queries, keys and values from wherever they lie, and a bias says what is masked.
/// Memory for scores is bounded, however many there are.
#pragma once

#include <cmath>

#include "tenon/kernels/wide_vectors.h"
#include "tenon/kernels/workspace.h"
#include "tenon/plugin/device.h"

namespace tenon::kernels::inline TENON_TARGET {

/// Tensors of a call.
struct HeadAttention {
  const float* q;  // (batches, heads, queries, features)
  const float* k;  // (batches, key heads, features, keys): transposed
  const float* v;  // (batches, key heads, keys, features)
  float* y;        // as q
  int64_t batches, heads, key_heads, queries, keys, features;  // key_heads divides heads
  float scale;

  TENON_HD int64_t rows() const { return batches * heads * queries; }
  /// The number of the keys and values that a head reads.
  TENON_HD int64_t key_head(int64_t batch, int64_t head) const {
    return batch * key_heads + head / (heads / key_heads);
  }
};

/// No bias.
struct NoBias {
  TENON_HD float operator()(int64_t, int64_t, int64_t, int64_t) const { return 0; }
};

inline constexpr int64_t kAttentionLanes = 32, kAttentionRows = 16;
/// Rows whose scores a GPU holds at a time.
inline int64_t attention_chunk(int64_t rows, int64_t keys) {
  constexpr int64_t kScores = 1 << 24;
  return std::max<int64_t>(1, std::min(rows, kScores / std::max<int64_t>(keys, 1)));
}
/// Bytes of workspace, for either target.
inline size_t head_attention_workspace(int64_t rows, int64_t keys) {
  const int64_t held = std::max(kAttentionLanes * kAttentionRows, attention_chunk(rows, keys));
  return static_cast<size_t>(std::max<int64_t>(held * keys, 0)) * sizeof(float);
}

#if !defined(__CUDACC__)

/// out = left right for `rows` rows, at most kAttentionRows: left is rows x depth, right depth x
/// columns; steps are from row to row.
template <int width>
[[gnu::always_inline]] inline void multiply_few(const float* left, int64_t left_step, int64_t rows,
                                                const float* right, int64_t right_step,
                                                int64_t depth, int64_t columns, float* out,
                                                int64_t out_step) {
  using V = Vector<width>;
  constexpr int64_t kTile = 4;
  int64_t c = 0;
  for (; c + 2 * width <= columns; c += 2 * width)
    for (int64_t first = 0; first < rows; first += kTile) {
      const float* at[kTile];  // rows behind the last are computed twice
      for (int64_t r = 0; r < kTile; ++r) at[r] = left + std::min(first + r, rows - 1) * left_step;
      V low[kTile] = {}, high[kTile] = {};
      for (int64_t d = 0; d < depth; ++d) {
        const V a = *reinterpret_cast<const V*>(right + d * right_step + c);
        const V b = *reinterpret_cast<const V*>(right + d * right_step + c + width);
        for (int64_t r = 0; r < kTile; ++r) {
          low[r] += at[r][d] * a;
          high[r] += at[r][d] * b;
        }
      }
      for (int64_t r = 0; r < std::min(kTile, rows - first); ++r) {
        float* to = out + (first + r) * out_step + c;
        *reinterpret_cast<V*>(to) = low[r];
        *reinterpret_cast<V*>(to + width) = high[r];
      }
    }
  for (; c < columns; ++c)
    for (int64_t r = 0; r < rows; ++r) {
      float sum = 0;
      for (int64_t d = 0; d < depth; ++d)
        sum += left[r * left_step + d] * right[d * right_step + c];
      out[r * out_step + c] = sum;
    }
}

/// A row without any weight gives 0.
template <class Bias>
void attend_heads(const kit::Device& device, const HeadAttention& a, const Bias& bias) {
  if (a.rows() * a.features == 0) return;
  const int64_t blocks = (a.queries + kAttentionRows - 1) / kAttentionRows;
  const int64_t tasks = a.batches * a.heads * blocks, lanes = std::min(tasks, kAttentionLanes);
  auto* const scratch = static_cast<float*>(device.workspace);
  const auto run = [&](int64_t task, float* scores) {
    const int64_t head = task / blocks % a.heads, batch = task / (blocks * a.heads);
    const int64_t first = task % blocks * kAttentionRows;
    const int64_t rows = std::min(kAttentionRows, a.queries - first);
    const int64_t source = a.key_head(batch, head) * a.keys * a.features;
    const int64_t at = ((batch * a.heads + head) * a.queries + first) * a.features;
    with_wide_vectors([&](auto width) __attribute__((always_inline)) {
      multiply_few<decltype(width)::value>(a.q + at, a.features, rows, a.k + source, a.keys,
                                           a.features, a.keys, scores, a.keys);
    });
    for (int64_t r = 0; r < rows; ++r) {
      float* const row = scores + r * a.keys;
      float largest = -HUGE_VALF, sum = 0;
      for (int64_t j = 0; j < a.keys; ++j) {
        row[j] = row[j] * a.scale + bias(batch, head, first + r, j);
        largest = row[j] > largest ? row[j] : largest;
      }
      if (largest == -HUGE_VALF) largest = 0;
      for (int64_t j = 0; j < a.keys; ++j) sum += row[j] = std::exp(row[j] - largest);
      const float factor = sum == 0 ? 0 : 1 / sum;
      for (int64_t j = 0; j < a.keys; ++j) row[j] *= factor;
    }
    with_wide_vectors([&](auto width) __attribute__((always_inline)) {
      multiply_few<decltype(width)::value>(scores, a.keys, rows, a.v + source, a.features, a.keys,
                                           a.features, a.y + at, a.features);
    });
  };
  device.parallel_ranges(lanes, 1, [&](int64_t begin, int64_t end) {
    for (int64_t lane = begin; lane < end; ++lane)
      for (int64_t task = lane; task < tasks; task += lanes)
        run(task, scratch + lane * kAttentionRows * a.keys);
  });
}

#else

/// One query of one head.
template <class Bias> struct AttendRow {
  HeadAttention a;
  Bias bias;
  float* scratch;
  int64_t first;

  __device__ void operator()(const kit::Team& team, int64_t i) const {
    const int64_t row = first + i, query = row % a.queries;
    const int64_t head = row / a.queries % a.heads, batch = row / (a.queries * a.heads);
    const int64_t source = a.key_head(batch, head) * a.keys * a.features;
    const float *q = a.q + row * a.features, *k = a.k + source, *v = a.v + source;
    float* const scores = scratch + i * a.keys;
    team.each(a.keys, [&](int64_t j) {
      float sum = 0;
      for (int64_t f = 0; f < a.features; ++f) sum += q[f] * k[f * a.keys + j];
      scores[j] = sum * a.scale + bias(batch, head, query, j);
    });
    __syncthreads();
    float largest = team.reduce(
        a.keys, -HUGE_VALF, [](float x, float y) { return x > y ? x : y; },
        [&](int64_t j) { return scores[j]; });
    if (largest == -HUGE_VALF) largest = 0;
    const float sum = team.sum(a.keys, [&](int64_t j) { return expf(scores[j] - largest); });
    const float factor = sum == 0 ? 0 : 1 / sum;
    team.each(a.keys, [&](int64_t j) { scores[j] = expf(scores[j] - largest) * factor; });
    __syncthreads();
    team.each(a.features, [&](int64_t f) {
      float mixed = 0;
      for (int64_t j = 0; j < a.keys; ++j) mixed += scores[j] * v[j * a.features + f];
      a.y[row * a.features + f] = mixed;
    });
    __syncthreads();
  }
};

template <class Bias>
void attend_heads(const kit::Device& device, const HeadAttention& a, const Bias& bias) {
  if (a.rows() * a.features == 0) return;
  const int64_t chunk = attention_chunk(a.rows(), a.keys);
  for (int64_t first = 0; first < a.rows(); first += chunk)
    device.parallel_rows(std::min(chunk, a.rows() - first),
                         AttendRow<Bias>{a, bias, static_cast<float*>(device.workspace), first});
}

#endif

/// Where the features of heads lie in a tensor: elements from batch to batch, token to token, head
/// to head and feature to feature. With `starts`, sequences of several lengths lie one behind the
/// other, and starts[b] is the first token of sequence b (starts[batches] the end), of `total`
/// tokens.
struct HeadLayout {
  int64_t batch, token, head, feature = 1;
  const int32_t* starts = nullptr;
  int64_t total = 0;

  /// Where feature 0 of a token lies; -1 for tokens behind the end of their sequence.
  TENON_HD int64_t at(int64_t b, int64_t t, int64_t h) const {
    if (starts == nullptr) return b * batch + t * token + h * head;
    const int64_t index = starts[b] + t;
    const bool is_inside = index >= 0 && index < starts[b + 1] && index < total;
    return is_inside ? index * token + h * head : -1;
  }
};

/// Copies heads to (batches, heads, tokens, features) of float, times a factor. Tokens behind the
/// end are 0.
template <class E> struct GatherHeads {
  const E* from;
  float* to;
  HeadLayout layout;
  int64_t heads, tokens, features;
  bool transposes = false;  ///< to (batches, heads, features, tokens)
  float factor = 1;

  TENON_HD void operator()(int64_t i) const {
    const int64_t feature = transposes ? i / tokens % features : i % features;
    const int64_t token = transposes ? i % tokens : i / features % tokens;
    const int64_t head = i / (features * tokens) % heads, batch = i / (features * tokens * heads);
    const int64_t at = layout.at(batch, token, head);
    to[i] = at < 0 ? 0.f : static_cast<float>(from[at + feature * layout.feature]) * factor;
  }
};
/// The way back; integers are rounded, and clamped to what E holds. Tokens behind the end stay.
template <class E> struct ScatterHeads {
  const float* from;
  E* to;
  HeadLayout layout;
  int64_t heads, tokens, features;
  float factor = 1;

  TENON_HD void operator()(int64_t i) const {
    const int64_t feature = i % features, token = i / features % tokens;
    const int64_t head = i / (features * tokens) % heads, batch = i / (features * tokens * heads);
    const int64_t at = layout.at(batch, token, head);
    if (at < 0) return;
    float value = from[i] * factor;
    if constexpr (std::is_same_v<E, int8_t>) value = fminf(fmaxf(rintf(value), -128.f), 127.f);
    to[at + feature * layout.feature] = static_cast<E>(value);
  }
};

/// Memory for the tensors of a HeadAttention, and for its scores.
struct HeadMemory {
  float *q, *k, *v, *y;
  char* scores;

  HeadMemory(Carver& carver, const HeadAttention& a) {
    q = carver.array<float>(a.rows() * a.features);
    const int64_t keys = a.batches * a.key_heads * a.keys * a.features;
    k = carver.array<float>(keys);
    v = carver.array<float>(keys);
    y = carver.array<float>(a.rows() * a.features);
    scores = carver.array<char>(static_cast<int64_t>(head_attention_workspace(a.rows(), a.keys)));
  }
  static size_t bytes(const HeadAttention& a) {
    Carver carver;
    HeadMemory(carver, a);
    return carver.bytes();
  }
};

/// Where the tensors of a call lie, and how their elements are scaled.
template <class E> struct HeadTensors {
  const E *q, *k, *v;
  E* y;
  HeadLayout q_layout, k_layout, v_layout, y_layout;
  float in_factor = 1, out_factor = 1;
};

/// Attention of heads that lie anywhere. `a` has the extents; its memory is workspace, as
/// HeadMemory::bytes() says.
template <class E, class Bias>
void attend_heads_of(const kit::Device& device, HeadAttention a, const HeadTensors<E>& t,
                     const Bias& bias) {
  if (a.rows() * a.features == 0) return;
  Carver carver(device.workspace);
  const HeadMemory memory(carver, a);
  const int64_t keys = a.batches * a.key_heads * a.keys * a.features;
  device.parallel_for(a.rows() * a.features,
                      GatherHeads<E>{t.q, memory.q, t.q_layout, a.heads, a.queries, a.features,
                                     false, t.in_factor});
  device.parallel_for(keys, GatherHeads<E>{t.k, memory.k, t.k_layout, a.key_heads, a.keys,
                                           a.features, true, t.in_factor});
  device.parallel_for(keys, GatherHeads<E>{t.v, memory.v, t.v_layout, a.key_heads, a.keys,
                                           a.features, false, t.in_factor});
  a.q = memory.q;
  a.k = memory.k;
  a.v = memory.v;
  a.y = memory.y;
  kit::Device rest = device;
  rest.workspace = memory.scores;
  attend_heads(rest, a, bias);
  device.parallel_for(a.rows() * a.features, ScatterHeads<E>{memory.y, t.y, t.y_layout, a.heads,
                                                             a.queries, a.features, t.out_factor});
}

}  // namespace tenon::kernels::inline TENON_TARGET
