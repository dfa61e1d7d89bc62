// The loops of Winograd's convolution (Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2016), over channels in blocks of as many as a vector has.
#pragma once

#include <cstdint>
#include <utility>

#include "cpu/simd/block_lanes.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

#if defined(__AVX512F__)
constexpr int kMaxSums = 24;  // of 32 registers
#else
constexpr int kMaxSums = 12;  // of 16
#endif

/// What the transforms multiply with, from the points alone.
template <int N> struct WinogradTable {
  static constexpr int kPoints = N / 2 - 1;
  float all[kPoints + 1] = {};           // of the product of (x^2 - p^2), by powers of x^2
  float without[kPoints][kPoints] = {};  // without one of the points
  float power[kPoints][N] = {};          // of each point

  constexpr WinogradTable() {
    product(-1, all);
    for (int k = 0; k < kPoints; ++k) {
      product(k, without[k]);
      double x = 1;
      for (int j = 0; j < N; ++j, x *= kWinogradPoints<N>[k]) power[k][j] = static_cast<float>(x);
    }
  }

 private:
  static constexpr void product(int left_out, float* out) {
    double c[kPoints + 1] = {1};
    int degree = 0;
    for (int k = 0; k < kPoints; ++k) {
      if (k == left_out) continue;
      const double square = kWinogradPoints<N>[k] * kWinogradPoints<N>[k];
      ++degree;
      for (int i = degree; i >= 0; --i) c[i] = (i > 0 ? c[i - 1] : 0) - square * c[i];
    }
    for (int i = 0; i <= degree; ++i) out[i] = static_cast<float>(c[i]);
  }
};
template <int N> constexpr WinogradTable<N> kWinogradTable;

// d[2 * (Count - 1)] and the lower ones by their coefficients: the highest has 1.
template <int Count> inline BlockLanes every_other(const BlockLanes* d, const float* coefficients) {
  BlockLanes sum = d[2 * (Count - 1)];
#pragma GCC unroll 8
  for (int i = 0; i < Count - 1; ++i) sum += coefficients[i] * d[2 * i];
  return sum;
}

// Along one axis: B^T d, of N elements. The points are 0, each of kWinogradPoints with both signs,
// and infinity; a row holds the coefficients of the product of x minus each other point, which are
// an even part, and an odd one whose sign is the point's.
template <int N> inline void transform_input(const BlockLanes* d, BlockLanes* out) {
  constexpr auto& table = kWinogradTable<N>;
  constexpr int kPoints = table.kPoints;
  out[0] = every_other<kPoints + 1>(d, table.all);
#pragma GCC unroll 8
  for (int k = 0; k < kPoints; ++k) {
    const BlockLanes even = every_other<kPoints>(d + 2, table.without[k]);
    const BlockLanes odd = every_other<kPoints>(d + 1, table.without[k]);
    out[2 * k + 1] = even + table.power[k][1] * odd;
    out[2 * k + 2] = even - table.power[k][1] * odd;
  }
  out[N - 1] = every_other<kPoints + 1>(d + 1, table.all);
}

// Along one axis: A^T m, of N elements to M.
template <int N, int M> inline void transform_output(const BlockLanes* m, BlockLanes* out) {
  constexpr auto& table = kWinogradTable<N>;
  constexpr int kPoints = table.kPoints;
  BlockLanes sum[kPoints], difference[kPoints];
#pragma GCC unroll 8
  for (int k = 0; k < kPoints; ++k) {
    sum[k] = m[2 * k + 1] + m[2 * k + 2];
    difference[k] = m[2 * k + 1] - m[2 * k + 2];
  }
#pragma GCC unroll 8
  for (int j = 0; j < M; ++j) {
    const BlockLanes* part = j % 2 == 0 ? sum : difference;
    BlockLanes x = table.power[0][j] * part[0];
#pragma GCC unroll 8
    for (int k = 1; k < kPoints; ++k) x += table.power[k][j] * part[k];
    if (j == 0) x += m[0];
    if (j == M - 1) x += m[N - 1];
    out[j] = x;
  }
}

template <int N, int Step>
void winograd_input(const float* in, int64_t row_step, float* v, const int64_t* planes) {
  BlockLanes rows[N][N];
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) {
    BlockLanes d[N];
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) d[j] = load_lanes(in + i * row_step + j * Step * kBlockLanes);
    transform_input<N>(d, rows[i]);
  }
#pragma GCC unroll 8
  for (int j = 0; j < N; ++j) {
    BlockLanes d[N], out[N];
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) d[i] = rows[i][j];
    transform_input<N>(d, out);
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) store_lanes(v + planes[i * N + j], out[i]);
  }
}

template <int N, int M>
void winograd_output(const float* m, int64_t plane_step, const float* bias, float lower,
                     float upper, float* out, int64_t row_step) {
  BlockLanes rows[M][N];
#pragma GCC unroll 8
  for (int j = 0; j < N; ++j) {
    BlockLanes d[N], column[M];
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) d[i] = load_lanes(m + (i * N + j) * plane_step);
    transform_output<N, M>(d, column);
#pragma GCC unroll 8
    for (int i = 0; i < M; ++i) rows[i][j] = column[i];
  }
  const BlockLanes b = load_lanes(bias);
  const BlockLanes low = BlockLanes{} + lower, high = BlockLanes{} + upper;
#pragma GCC unroll 8
  for (int i = 0; i < M; ++i) {
    BlockLanes row[M];
    transform_output<N, M>(rows[i], row);
#pragma GCC unroll 8
    for (int j = 0; j < M; ++j) {
      const BlockLanes sum = row[j] + b, x = sum > high ? high : sum;
      store_lanes(out + i * row_step + j * kBlockLanes, x < low ? low : x);
    }
  }
}

// Elements of two vectors in turn, from the first halves (From 0) or the second.
template <int From, int... I>
inline BlockLanes in_turn(BlockLanes a, BlockLanes b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (From + I / 2 + I % 2 * kBlockLanes)...);
}

// A square of vectors is turned when the first half of them and the second were merged as often as
// a vector can be halved.
void winograd_interleave(const float* const* rows, int64_t n, float* out) {
  for (int64_t at = 0; at < n; at += kBlockLanes, out += kBlockLanes * kBlockLanes) {
    BlockLanes x[kBlockLanes], y[kBlockLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kBlockLanes; ++i) x[i] = load_lanes(rows[i] + at);
#pragma GCC unroll 4
    for (int done = 1; done < kBlockLanes; done *= 2) {
#pragma GCC unroll 8
      for (int i = 0; i < kBlockLanes / 2; ++i) {
        constexpr std::make_integer_sequence<int, kBlockLanes> kAll;
        y[2 * i] = in_turn<0>(x[i], x[i + kBlockLanes / 2], kAll);
        y[2 * i + 1] = in_turn<kBlockLanes / 2>(x[i], x[i + kBlockLanes / 2], kAll);
      }
#pragma GCC unroll 16
      for (int i = 0; i < kBlockLanes; ++i) x[i] = y[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < kBlockLanes; ++i) store_lanes(out + i * kBlockLanes, x[i]);
  }
}

/// Weights come to the L1 cache that many floats ahead.
constexpr int64_t kWinogradPrefetch = 512;

// T tiles by V vectors of output channels, in registers.
template <int T, int V>
void winograd_product(const float* v, const float* u, int64_t depth, const NextRead& next, float* m,
                      int64_t m_step) {
  constexpr int kLines = (V + kLineVectors - 1) / kLineVectors;  // two short vectors share one
  const float* soon = next.first;
  const int64_t step = depth > 0 ? next.count / (depth * kLines) : 0;
  BlockLanes sum[V][T] = {};
  for (int64_t c = 0; c < depth; c += kBlockLanes, v += T * kBlockLanes)
    for (int lane = 0; lane < kBlockLanes; ++lane, u += V * kBlockLanes) {
      BlockLanes w[V];
#pragma GCC unroll 2
      for (int i = 0; i < kLines; ++i, soon += step) {
        __builtin_prefetch(u + kWinogradPrefetch + i * kLineVectors * kBlockLanes);
        __builtin_prefetch(soon, 0, kPrefetchL2);
      }
#pragma GCC unroll 2
      for (int i = 0; i < V; ++i) w[i] = load_lanes(u + i * kBlockLanes);
#pragma GCC unroll 32
      for (int t = 0; t < T; ++t) {
        const float x = v[t * kBlockLanes + lane];
#pragma GCC unroll 2
        for (int i = 0; i < V; ++i) sum[i][t] += x * w[i];
      }
    }
#pragma GCC unroll 2
  for (int i = 0; i < V; ++i)
#pragma GCC unroll 32
    for (int t = 0; t < T; ++t) store_lanes(m + i * m_step + t * kBlockLanes, sum[i][t]);
}

template <int V, int... T> auto winograd_product_of(std::integer_sequence<int, T...>, int tiles) {
  static constexpr decltype(&winograd_product<1, V>) products[] = {winograd_product<T + 1, V>...};
  return products[tiles - 1];
}
void multiply_winograd(const float* v, const float* u, int64_t depth, const NextRead& next,
                       int tiles, int vectors, float* m, int64_t m_step) {
  const auto product =
      vectors == 2 ? winograd_product_of<2>(std::make_integer_sequence<int, kMaxSums / 2>(), tiles)
                   : winograd_product_of<1>(std::make_integer_sequence<int, kMaxSums>(), tiles);
  product(v, u, depth, next, m, m_step);
}

template <int N, int Window>
constexpr WinogradKernels::Tile kWinogradTile = {
    N, Window, {winograd_input<N, 1>, winograd_input<N, 2>}, winograd_output<N, N + 1 - Window>};

constexpr WinogradKernels kWinograd = {
    kBlockLanes,
    kMaxSums,
    multiply_winograd,
    winograd_interleave,
    {kWinogradTile<4, 3>, kWinogradTile<6, 3>, kWinogradTile<8, 3>, kWinogradTile<8, 5>}};

}  // namespace
}  // namespace tenon::cpu
