// The loops of direct convolution: vectors of output channels, times single elements under the
// windows.
#pragma once

#include <cstdint>
#include <utility>

#include "cpu/simd/block_lanes.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

// Neighbouring results, whose sums of two vectors the registers hold beside the weights.
#if defined(__AVX512F__)
constexpr int kDirectPixels = 14;
#else
constexpr int kDirectPixels = 6;
#endif
/// Weights are prefetched that many floats ahead.
constexpr int64_t kDirectPrefetch = 512;
/// And data, so many elements of a window ahead, where they may be far away.
constexpr int64_t kDirectSoon = 2 * kBlockLanes;
/// Of a panel of rows, weights that come next are prefetched once for so many elements.
constexpr int kPackedPrefetchLanes = 4;

// Sums of V vectors of output channels for N neighbouring results.
template <int V, int N> using DirectSums = BlockLanes[V][N];

// As the bias says, while what will be read and written at the end is prefetched.
template <int V, int N>
[[gnu::always_inline]] inline void begin_sums(DirectSums<V, N>& sum, const DirectForm& form,
                                              const float* bias, const float* out) {
  if (form.addend != nullptr) {
    const float* const addend = form.addend + (out - form.result);
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v)
#pragma GCC unroll 16
      for (int p = 0; p < N; ++p)
        __builtin_prefetch(addend + v * form.out_step + p * form.out_pixel);
  }
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v)
#pragma GCC unroll 16
    for (int p = 0; p < N; ++p) __builtin_prefetch(out + v * form.out_step + p * form.out_pixel, 1);
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v) {
    const BlockLanes b = load_lanes(bias + v * kBlockLanes);
#pragma GCC unroll 16
    for (int p = 0; p < N; ++p) sum[v][p] = b;
  }
}

// Adds the addend, and writes what is within bounds.
template <int V, int N>
[[gnu::always_inline]] inline void end_sums(DirectSums<V, N>& sum, const DirectForm& form,
                                            float* out) {
  if (form.addend != nullptr) {
    const float* const addend = form.addend + (out - form.result);
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v)
#pragma GCC unroll 16
      for (int p = 0; p < N; ++p)
        sum[v][p] += load_lanes(addend + v * form.out_step + p * form.out_pixel);
  }
  const BlockLanes lower = BlockLanes{} + form.lower, upper = BlockLanes{} + form.upper;
#pragma GCC unroll 2
  for (int v = 0; v < V; ++v)
#pragma GCC unroll 16
    for (int p = 0; p < N; ++p) {
      const BlockLanes result = sum[v][p] > upper ? upper : sum[v][p];
      store_lanes(out + v * form.out_step + p * form.out_pixel, result < lower ? lower : result);
    }
}

// Neighbouring results of V vectors of output channels, P of each of R rows. A Step of 0 is the
// form's.
template <int R, int P, int V, int Step, bool IsFar = false>
void direct_pixels(const DirectForm& form, const float* in, int64_t row_step, const float* weights,
                   int64_t width, const float* next, int64_t next_step, const float* bias,
                   float* out) {
  DirectSums<V, R * P> sum;
  begin_sums<V, R * P>(sum, form, bias, out);
  const int64_t step = Step > 0 ? Step : form.step;
  for (int64_t k = 0; k < form.depth; ++k, weights += width, next += next_step) {
    __builtin_prefetch(next, 0, kPrefetchL2);
    const float* from = in + form.offsets[k];
    if constexpr (IsFar) {
      // A pixel of what comes later with each element: those of a vector share its pixels.
      const int64_t soon = k + kDirectSoon < form.depth ? k + kDirectSoon : k;
      __builtin_prefetch(in + form.offsets[soon] + k % kBlockLanes * Step);
    }
    // Two short vectors share a cache line.
#pragma GCC unroll 2
    for (int v = 0; v < V; v += kLineVectors)
      __builtin_prefetch(weights + kDirectPrefetch + v * kBlockLanes);
    BlockLanes w[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) w[v] = load_lanes(weights + v * kBlockLanes);
#pragma GCC unroll 16
    for (int p = 0; p < R * P; ++p) {
      const float x = from[p / P * row_step + p % P * step];
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) sum[v][p] += x * w[v];
    }
  }
  end_sums<V, R * P>(sum, form, out);
}

// Results of V vectors of output channels for the P rows of a panel of rows.
template <int P, int V>
void packed_rows(const DirectForm& form, const float* rows_panel, const float* weights,
                 int64_t width, const float* next, int64_t next_step, const float* bias,
                 float* out) {
  DirectSums<V, P> sum;
  begin_sums<V, P>(sum, form, bias, out);
  const auto multiply = [&](int lane) __attribute__((always_inline)) {
#pragma GCC unroll 2
    for (int v = 0; v < V; v += kLineVectors)
      __builtin_prefetch(weights + kDirectPrefetch + v * kBlockLanes);
    BlockLanes w[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) w[v] = load_lanes(weights + v * kBlockLanes);
#pragma GCC unroll 16
    for (int p = 0; p < P; ++p) {
      const float x = rows_panel[p * kBlockLanes + lane];
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) sum[v][p] += x * w[v];
    }
    weights += width;
  };
  for (int64_t k = kBlockLanes; k <= form.depth; k += kBlockLanes, rows_panel += P * kBlockLanes)
#pragma GCC unroll 1  // or the sums leave the registers
    for (int lane = 0; lane < kBlockLanes; ++lane) {
      if (lane % kPackedPrefetchLanes == 0) {
        __builtin_prefetch(next, 0, kPrefetchL2);
        next += next_step;
      }
      multiply(lane);
    }
  const int rest = static_cast<int>(form.depth % kBlockLanes);
  for (int lane = 0; lane < rest; ++lane) multiply(lane);
  end_sums<V, P>(sum, form, out);
}

using PackedRows = void (*)(const DirectForm&, const float*, const float*, int64_t, const float*,
                            int64_t, const float*, float*);
template <int V, int... P>
PackedRows packed_rows_of(std::integer_sequence<int, P...>, int64_t rows) {
  static constexpr PackedRows loops[] = {packed_rows<P + 1, V>...};
  return loops[rows - 1];
}

void direct_packed_rows(const DirectForm& form, const float* rows_panel, int64_t rows,
                        const float* weights, int64_t width, const NextRead& next,
                        const float* bias, int64_t vectors, float* out) {
  constexpr std::make_integer_sequence<int, kDirectPixels> kRows;
  const auto run = vectors == 2 ? packed_rows_of<2>(kRows, rows) : packed_rows_of<1>(kRows, rows);
  const int64_t prefetches = form.depth / kPackedPrefetchLanes;
  const int64_t next_step = prefetches > 0 ? (next.count + prefetches - 1) / prefetches : 0;
  run(form, rows_panel, weights, width, next.first, next_step, bias, out);
}

/// What is multiplied for some results, beside the form.
struct DirectTask {
  const float *in, *weights;
  int64_t width;
  NextRead next;
  const float* bias;
  DirectPixels pixels;
  float* out;
};

// All results of V vectors, in blocks of nearly the same number.
template <int V, int Step, bool IsFar, int... P>
void direct_row(std::integer_sequence<int, P...>, const DirectForm& form, const DirectTask& t) {
  static constexpr decltype(&direct_pixels<1, 1, V, Step>) blocks[] = {
      direct_pixels<1, P + 1, V, Step, IsFar>...};
  const int64_t pixels = t.pixels.count;
  const int64_t count = (pixels + kDirectPixels - 1) / kDirectPixels;
  const int64_t windows = count * form.depth;
  const int64_t next_step = windows > 0 ? (t.next.count + windows - 1) / windows : 0;
  for (int64_t b = 0; b < count; ++b) {
    const int64_t first = pixels * b / count, end = pixels * (b + 1) / count;
    blocks[end - first - 1](form, t.in + first * form.step, 0, t.weights, t.width,
                            t.next.first + t.next.count * b / count, next_step, t.bias,
                            t.out + first * form.out_pixel);
  }
}

// The same of two rows, which one block holds.
template <int V, int Step, bool IsFar, int... P>
void direct_rows(std::integer_sequence<int, P...>, const DirectForm& form, const DirectTask& t) {
  static constexpr decltype(&direct_pixels<2, 1, V, Step>) blocks[] = {
      direct_pixels<2, P + 1, V, Step, IsFar>...};
  if (t.pixels.count < 1) return;
  const int64_t next_step = form.depth > 0 ? (t.next.count + form.depth - 1) / form.depth : 0;
  blocks[t.pixels.count - 1](form, t.in, t.pixels.row_step, t.weights, t.width, t.next.first,
                             next_step, t.bias, t.out);
}

template <int V, int Step, bool IsFar>
void direct_vectors(const DirectForm& form, const DirectTask& t) {
  if (t.pixels.rows == 2)
    direct_rows<V, Step, IsFar>(std::make_integer_sequence<int, kDirectPixels / 2>(), form, t);
  else
    direct_row<V, Step, IsFar>(std::make_integer_sequence<int, kDirectPixels>(), form, t);
}

template <int Step> void direct_by_step(const DirectForm& form, DirectTask t, int64_t vectors) {
  constexpr bool kCanPrefetch = Step == kBlockLanes || Step == 2 * kBlockLanes;
  bool is_far = t.pixels.is_far;
  for (; vectors > 1; vectors -= 2) {
    // What is far away comes nearer with the first vectors.
    (is_far ? direct_vectors<2, Step, kCanPrefetch> : direct_vectors<2, Step, false>)(form, t);
    is_far = false;
    t.weights += 2 * kBlockLanes;
    t.bias += 2 * kBlockLanes;
    t.out += 2 * form.out_step;
  }
  if (vectors == 1) direct_vectors<1, Step, false>(form, t);
}

void direct(const DirectForm& form, const float* in, const float* weights, int64_t width,
            const NextRead& next, const float* bias, int64_t vectors, const DirectPixels& pixels,
            float* out) {
  const auto loop = form.step == 1                 ? direct_by_step<1>
                    : form.step == 2               ? direct_by_step<2>
                    : form.step == kBlockLanes     ? direct_by_step<kBlockLanes>
                    : form.step == 2 * kBlockLanes ? direct_by_step<2 * kBlockLanes>
                                                   : direct_by_step<0>;
  loop(form, {in, weights, width, next, bias, pixels, out}, vectors);
}

constexpr DirectKernels kDirect = {kBlockLanes, kDirectPixels / 2, direct, kDirectPixels,
                                   direct_packed_rows};

}  // namespace
}  // namespace tenon::cpu
