/// Attention of several heads, without a tensor of weights: softmax(scale q k^T + bias) v.
///
/// Fronts gather queries, keys and values from wherever they lie, and a bias says what is masked.
/// Memory for scores is bounded, however many there are.
#pragma once

#include <cmath>

#include "tenon/kernels/pixels.h"
#include "tenon/kernels/product.h"
#include "tenon/kernels/softmax.h"
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

inline constexpr int64_t kAttentionLanes = 32, kAttentionRows = 64;
/// Queries that a thread of a CPU has at a time: fewer where their scores leave the cache.
inline int64_t attention_rows(int64_t keys) {
  constexpr int64_t kFewRows = 16, kManyKeys = 4096;
  return keys > kManyKeys ? kFewRows : kAttentionRows;
}
/// Rows whose scores a GPU holds at a time.
inline int64_t attention_chunk(int64_t rows, int64_t keys) {
  constexpr int64_t kScores = 1 << 24;
  return std::max<int64_t>(1, std::min(rows, kScores / std::max<int64_t>(keys, 1)));
}
/// Floats from row to row of scores on a CPU, which are whole vectors.
inline int64_t attention_step(int64_t keys) {
  constexpr int64_t kMaxVector = 16;
  return (keys + kMaxVector - 1) / kMaxVector * kMaxVector;
}
/// Bytes of workspace, for either target.
inline size_t head_attention_workspace(int64_t rows, int64_t keys) {
  const int64_t held = std::max(kAttentionLanes * attention_rows(keys) * attention_step(keys),
                                attention_chunk(rows, keys) * keys);
  return static_cast<size_t>(std::max<int64_t>(held, 0)) * sizeof(float);
}

#if !defined(__CUDACC__)

/// Some rows and columns of a right factor, one row behind the other.
template <int width> struct ColumnPanel {
  static constexpr int64_t kDepth = 128, kColumns = 2 * width;
  alignas(64) float elements[kDepth * kColumns];

  [[gnu::always_inline]] inline void read(const float* from, int64_t step, int64_t depth,
                                          int64_t columns) {
    using V = Vector<width>;
    if (columns == kColumns) {
      for (int64_t d = 0; d < depth; ++d) {
        const V* const row = reinterpret_cast<const V*>(from + d * step);
        V* const to = reinterpret_cast<V*>(elements + d * kColumns);
        to[0] = row[0];
        to[1] = row[1];
      }
    } else {
      std::fill_n(elements, depth * kColumns, 0.f);
      for (int64_t d = 0; d < depth; ++d)
        for (int64_t c = 0; c < columns; ++c) elements[d * kColumns + c] = from[d * step + c];
    }
  }
};

/// out = left right for `rows` rows, at most kAttentionRows: left is rows x depth, right depth x
/// columns; steps are from row to row. Some columns of the right factor are in the first cache for
/// all rows.
template <int width>
[[gnu::always_inline]] inline void multiply_few(const float* left, int64_t left_step, int64_t rows,
                                                const float* right, int64_t right_step,
                                                int64_t depth, int64_t columns, float* out,
                                                int64_t out_step) {
  using V = Vector<width>;
  using Panel = ColumnPanel<width>;
  // As many rows as registers hold, so that no sum waits for itself.
  constexpr int64_t kTile = width == 8 ? 6 : ProductTile<width>::kRows;
  constexpr int64_t kRows = (kAttentionRows + kTile - 1) / kTile * kTile;
  Panel panel;
  alignas(64) float sums[kRows * Panel::kColumns];
  for (int64_t c = 0; c < columns; c += Panel::kColumns) {
    const int64_t count = std::min(Panel::kColumns, columns - c);
    std::fill_n(sums, kRows * Panel::kColumns, 0.f);
    for (int64_t from = 0; from < depth; from += Panel::kDepth) {
      const int64_t some = std::min(Panel::kDepth, depth - from);
      panel.read(right + from * right_step + c, right_step, some, count);
      for (int64_t first = 0; first < rows; first += kTile) {
        const float* at[kTile];  // rows behind the last are computed twice
        V low[kTile], high[kTile];
        for (int64_t r = 0; r < kTile; ++r) {
          at[r] = left + std::min(first + r, rows - 1) * left_step + from;
          const float* const sum = sums + (first + r) * Panel::kColumns;
          low[r] = *reinterpret_cast<const V*>(sum);
          high[r] = *reinterpret_cast<const V*>(sum + width);
        }
        for (int64_t d = 0; d < some; ++d) {
          const V a = *reinterpret_cast<const V*>(panel.elements + d * Panel::kColumns);
          const V b = *reinterpret_cast<const V*>(panel.elements + d * Panel::kColumns + width);
          for (int64_t r = 0; r < kTile; ++r) {
            low[r] += at[r][d] * a;
            high[r] += at[r][d] * b;
          }
        }
        for (int64_t r = 0; r < kTile; ++r) {
          float* const sum = sums + (first + r) * Panel::kColumns;
          *reinterpret_cast<V*>(sum) = low[r];
          *reinterpret_cast<V*>(sum + width) = high[r];
        }
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      const float* const sum = sums + r * Panel::kColumns;
      float* const to = out + r * out_step + c;
      if (count == Panel::kColumns) {
        reinterpret_cast<V*>(to)[0] = reinterpret_cast<const V*>(sum)[0];
        reinterpret_cast<V*>(to)[1] = reinterpret_cast<const V*>(sum)[1];
      } else {
        for (int64_t j = 0; j < count; ++j) to[j] = sum[j];
      }
    }
  }
}

/// A row without any weight gives 0.
template <class Bias>
void attend_heads(const kit::Device& device, const HeadAttention& a, const Bias& bias) {
  if (a.rows() * a.features == 0) return;
  const int64_t block = attention_rows(a.keys), blocks = (a.queries + block - 1) / block;
  const int64_t tasks = a.batches * a.heads * blocks, lanes = std::min(tasks, kAttentionLanes);
  auto* const scratch = static_cast<float*>(device.workspace);
  const int64_t step = attention_step(a.keys);
  const auto run = [&](int64_t task, float* scores) {
    const int64_t head = task / blocks % a.heads, batch = task / (blocks * a.heads);
    const int64_t first = task % blocks * block;
    const int64_t rows = std::min(block, a.queries - first);
    const int64_t source = a.key_head(batch, head) * a.keys * a.features;
    const int64_t at = ((batch * a.heads + head) * a.queries + first) * a.features;
    with_wide_vectors([&](auto vector) __attribute__((always_inline)) {
      constexpr int kWidth = decltype(vector)::value;
      multiply_few<kWidth>(a.q + at, a.features, rows, a.k + source, a.keys, a.features, a.keys,
                           scores, step);
      float factors[kAttentionRows];
      for (int64_t r = 0; r < rows; ++r) {
        float* const row = scores + r * step;
        for (int64_t j = 0; j < a.keys; ++j)
          row[j] = row[j] * a.scale + bias(batch, head, first + r, j);
        for (int64_t j = a.keys; j < step; ++j) row[j] = -HUGE_VALF;
        const float largest = largest_of<kWidth>(row, step);
        const float sum = exponentials<kWidth>(row, step, largest == -HUGE_VALF ? 0 : largest);
        factors[r] = sum == 0 ? 0 : 1 / sum;
      }
      multiply_few<kWidth>(scores, step, rows, a.v + source, a.features, a.keys, a.features,
                           a.y + at, a.features);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t f = 0; f < a.features; ++f) a.y[at + r * a.features + f] *= factors[r];
    });
  };
  device.parallel_ranges(lanes, 1, [&](int64_t begin, int64_t end) {
    for (int64_t lane = begin; lane < end; ++lane)
      for (int64_t task = lane; task < tasks; task += lanes)
        run(task, scratch + lane * block * step);
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

/// Heads that become (batches, heads, tokens, features) of float, times a factor. Tokens behind the
/// end are 0.
template <class E> struct GatherHeads {
  const E* from;
  float* to;
  HeadLayout layout;
  int64_t heads, tokens, features;
  bool transposes = false;  ///< to (batches, heads, features, tokens)
  float factor = 1;

#if defined(__CUDACC__)
  TENON_HD void operator()(int64_t i) const {
    const int64_t feature = transposes ? i / tokens % features : i % features;
    const int64_t token = transposes ? i % tokens : i / features % tokens;
    const int64_t head = i / (features * tokens) % heads, batch = i / (features * tokens * heads);
    const int64_t at = layout.at(batch, token, head);
    to[i] = at < 0 ? 0.f : static_cast<float>(from[at + feature * layout.feature]) * factor;
  }
#else
  static constexpr int64_t kTokens = kTilePixels, kFeatures = kTileChannels;

  /// Up to kTokens tokens of a head, counted over all batches.
  void operator()(int64_t head, int64_t token) const {
    const int64_t count = std::min(kTokens, tokens - token);
    float* const first = to + head * tokens * features;
    int64_t at[kTokens];
    for (int64_t t = 0; t < count; ++t) at[t] = layout.at(head / heads, token + t, head % heads);
    alignas(64) float tile[kTokens * kFeatures];
    for (int64_t f = 0; f < features; f += kFeatures) {
      const int64_t some = std::min(kFeatures, features - f);
      float* const target = transposes ? first + f * tokens + token : first + token * features + f;
      const int64_t step = transposes ? tokens : features;
      const bool has_rows_of_features = layout.feature == 1;
      if (has_rows_of_features && !transposes) {
        for (int64_t t = 0; t < count; ++t) read(at[t] + f, at[t] < 0, some, target + t * step);
        continue;
      }
      // The tile lies as the tensor does: with features or tokens side by side.
      if (has_rows_of_features)
        for (int64_t t = 0; t < count; ++t) read(at[t] + f, at[t] < 0, some, tile + t * kFeatures);
      else
        for (int64_t k = 0; k < some; ++k)
          for (int64_t t = 0; t < count; ++t)
            tile[k * kTokens + t] =
                at[t] < 0 ? 0 : static_cast<float>(from[at[t] + (f + k) * layout.feature]) * factor;
      const int64_t rows = has_rows_of_features ? count : some;
      const int64_t columns = has_rows_of_features ? some : count;
      if (has_rows_of_features == transposes)
        transpose(tile, kFeatures, rows, columns, target, step);
      else
        for (int64_t r = 0; r < rows; ++r)
          std::copy_n(tile + r * kFeatures, columns, target + r * step);
    }
  }

 private:
  static_assert(kTokens == kFeatures);
  void read(int64_t at, bool is_behind, int64_t count, float* row) const {
    if (is_behind) return static_cast<void>(std::fill_n(row, count, 0.f));
    // No copy of memory, which would be a call for few elements.
    const kit::InputSpan<E> elements(from + at, count);
    for (int64_t i = 0; i < count; ++i) row[i] = elements[i] * factor;
  }
#endif
};
/// The way back; integers are rounded, and clamped to what E holds. Tokens behind the end stay.
template <class E> struct ScatterHeads {
  const float* from;
  E* to;
  HeadLayout layout;
  int64_t heads, tokens, features;
  float factor = 1;

#if defined(__CUDACC__)
  TENON_HD void operator()(int64_t i) const {
    const int64_t feature = i % features, token = i / features % tokens;
    const int64_t head = i / (features * tokens) % heads, batch = i / (features * tokens * heads);
    const int64_t at = layout.at(batch, token, head);
    if (at >= 0) to[at + feature * layout.feature] = element(from[i]);
  }
#else
  static constexpr int64_t kTokens = 64;

  /// Up to kTokens tokens of a head, counted over all batches.
  void operator()(int64_t head, int64_t token) const {
    const int64_t count = std::min(kTokens, tokens - token);
    const float* const first = from + (head * tokens + token) * features;
    int64_t at[kTokens];
    for (int64_t t = 0; t < count; ++t) at[t] = layout.at(head / heads, token + t, head % heads);
    if (layout.feature == 1) {
      for (int64_t t = 0; t < count; ++t)
        for (int64_t f = 0; f < features && at[t] >= 0; ++f)
          to[at[t] + f] = element(first[t * features + f]);
    } else {
      for (int64_t f = 0; f < features; ++f)
        for (int64_t t = 0; t < count; ++t)
          if (at[t] >= 0) to[at[t] + f * layout.feature] = element(first[t * features + f]);
    }
  }
#endif

 private:
  TENON_HD E element(float value) const {
    value *= factor;
    if constexpr (std::is_same_v<E, int8_t>) value = fminf(fmaxf(rintf(value), -128.f), 127.f);
    return static_cast<E>(value);
  }
};

/// Runs a GatherHeads or ScatterHeads over all heads of all batches.
template <class Move>
void move_heads(const kit::Device& device, const Move& move, int64_t batches) {
#if defined(__CUDACC__)
  device.parallel_for(batches * move.heads * move.tokens * move.features, move);
#else
  const int64_t tiles = (move.tokens + move.kTokens - 1) / move.kTokens;
  device.parallel_ranges(batches * move.heads * tiles, 1, [&](int64_t begin, int64_t end) {
    with_wide_vectors([&, begin, end](auto) {
      for (int64_t i = begin; i < end; ++i) move(i / tiles, i % tiles * move.kTokens);
    });
  });
#endif
}

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
  move_heads(
      device,
      GatherHeads<E>{t.q, memory.q, t.q_layout, a.heads, a.queries, a.features, false, t.in_factor},
      a.batches);
  move_heads(
      device,
      GatherHeads<E>{t.k, memory.k, t.k_layout, a.key_heads, a.keys, a.features, true, t.in_factor},
      a.batches);
  move_heads(device,
             GatherHeads<E>{t.v, memory.v, t.v_layout, a.key_heads, a.keys, a.features, false,
                            t.in_factor},
             a.batches);
  a.q = memory.q;
  a.k = memory.k;
  a.v = memory.v;
  a.y = memory.y;
  kit::Device rest = device;
  rest.workspace = memory.scores;
  attend_heads(rest, a, bias);
  move_heads(
      device,
      ScatterHeads<E>{memory.y, t.y, t.y_layout, a.heads, a.queries, a.features, t.out_factor},
      a.batches);
}

}  // namespace tenon::kernels::inline TENON_TARGET
