// The loops of Winograd's convolution of 3x3 windows (Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2016), over channels in blocks of as many as a vector has.
#pragma once

#include <cstdint>
#include <utility>

#include "target/cpu/simd/kernels.h"

// All of it is inlined: nothing depends on how vectors are passed.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tenon::cpu {
namespace {

#if defined(__AVX512F__)
constexpr int kTileLanes = 16, kMostSums = 24;  // of 32 registers
#else
constexpr int kTileLanes = 8, kMostSums = 12;  // of 16
#endif
typedef float TileLanes __attribute__((vector_size(kTileLanes * 4), aligned(4), may_alias));

inline TileLanes load_tile_lanes(const float* from) {
  return *reinterpret_cast<const TileLanes*>(from);
}
inline void store_tile_lanes(float* to, TileLanes x) {
  *reinterpret_cast<TileLanes*>(to) = x;
}

// Along one axis: B^T d, of N elements. The points are 0, each of kWinogradPoints with both signs,
// and infinity.
template <int N> inline void transform_input(const TileLanes* d, TileLanes* out);
template <> inline void transform_input<4>(const TileLanes* d, TileLanes* out) {
  constexpr auto a2 = static_cast<float>(kWinogradPoints<4>[0] * kWinogradPoints<4>[0]);
  constexpr auto a = static_cast<float>(kWinogradPoints<4>[0]);
  out[0] = d[2] - a2 * d[0];
  out[1] = d[2] + a * d[1];
  out[2] = d[2] - a * d[1];
  out[3] = d[3] - a2 * d[1];
}
template <> inline void transform_input<6>(const TileLanes* d, TileLanes* out) {
  constexpr double a = kWinogradPoints<6>[0], b = kWinogradPoints<6>[1];
  constexpr auto a1 = static_cast<float>(a), b1 = static_cast<float>(b);
  constexpr auto a2 = static_cast<float>(a * a), b2 = static_cast<float>(b * b);
  constexpr auto sum = static_cast<float>(a * a + b * b);
  constexpr auto product = static_cast<float>(a * a * b * b);
  const TileLanes p = d[4] - b2 * d[2], q = d[3] - b2 * d[1];
  const TileLanes r = d[4] - a2 * d[2], s = d[3] - a2 * d[1];
  out[0] = product * d[0] - sum * d[2] + d[4];
  out[1] = p + a1 * q;
  out[2] = p - a1 * q;
  out[3] = r + b1 * s;
  out[4] = r - b1 * s;
  out[5] = product * d[1] - sum * d[3] + d[5];
}

// Along one axis: A^T m, of N elements to N - 2.
template <int N> inline void transform_output(const TileLanes* m, TileLanes* out);
template <> inline void transform_output<4>(const TileLanes* m, TileLanes* out) {
  constexpr auto a = static_cast<float>(kWinogradPoints<4>[0]);
  out[0] = m[0] + (m[1] + m[2]);
  out[1] = a * (m[1] - m[2]) + m[3];
}
template <> inline void transform_output<6>(const TileLanes* m, TileLanes* out) {
  constexpr double a = kWinogradPoints<6>[0], b = kWinogradPoints<6>[1];
  constexpr auto a1 = static_cast<float>(a), b1 = static_cast<float>(b);
  constexpr auto a2 = static_cast<float>(a * a), b2 = static_cast<float>(b * b);
  constexpr auto a3 = static_cast<float>(a * a * a), b3 = static_cast<float>(b * b * b);
  const TileLanes s = m[1] + m[2], d = m[1] - m[2], t = m[3] + m[4], e = m[3] - m[4];
  out[0] = m[0] + (s + t);
  out[1] = a1 * d + b1 * e;
  out[2] = a2 * s + b2 * t;
  out[3] = a3 * d + b3 * e + m[5];
}

template <int N>
void winograd_input(const float* in, int64_t row_step, float* v, int64_t plane_step) {
  TileLanes rows[N][N];
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) {
    TileLanes d[N];
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) d[j] = load_tile_lanes(in + i * row_step + j * kTileLanes);
    transform_input<N>(d, rows[i]);
  }
#pragma GCC unroll 8
  for (int j = 0; j < N; ++j) {
    TileLanes d[N], out[N];
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) d[i] = rows[i][j];
    transform_input<N>(d, out);
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) store_tile_lanes(v + (i * N + j) * plane_step, out[i]);
  }
}

template <int N>
void winograd_output(const float* m, int64_t plane_step, const float* bias, float least, float* out,
                     int64_t row_step) {
  constexpr int kOut = N - 2;
  TileLanes rows[kOut][N];
#pragma GCC unroll 8
  for (int j = 0; j < N; ++j) {
    TileLanes d[N], column[kOut];
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) d[i] = load_tile_lanes(m + (i * N + j) * plane_step);
    transform_output<N>(d, column);
#pragma GCC unroll 8
    for (int i = 0; i < kOut; ++i) rows[i][j] = column[i];
  }
  const TileLanes b = load_tile_lanes(bias), low = TileLanes{} + least;
#pragma GCC unroll 8
  for (int i = 0; i < kOut; ++i) {
    TileLanes row[kOut];
    transform_output<N>(rows[i], row);
#pragma GCC unroll 8
    for (int j = 0; j < kOut; ++j) {
      const TileLanes x = row[j] + b;
      store_tile_lanes(out + i * row_step + j * kTileLanes, x < low ? low : x);
    }
  }
}

// T tiles by V vectors of maps, in registers.
template <int T, int V>
void winograd_product(const float* v, const float* u, int64_t depth, float* m, int64_t m_step) {
  TileLanes sum[V][T] = {};
  for (int64_t c = 0; c < depth; c += kTileLanes, v += T * kTileLanes)
    for (int lane = 0; lane < kTileLanes; ++lane, u += V * kTileLanes) {
      __builtin_prefetch(u + 32 * kTileLanes);
      TileLanes w[V];
#pragma GCC unroll 2
      for (int i = 0; i < V; ++i) w[i] = load_tile_lanes(u + i * kTileLanes);
#pragma GCC unroll 32
      for (int t = 0; t < T; ++t) {
        const float x = v[t * kTileLanes + lane];
#pragma GCC unroll 2
        for (int i = 0; i < V; ++i) sum[i][t] += x * w[i];
      }
    }
#pragma GCC unroll 2
  for (int i = 0; i < V; ++i)
#pragma GCC unroll 32
    for (int t = 0; t < T; ++t) store_tile_lanes(m + i * m_step + t * kTileLanes, sum[i][t]);
}

using WinogradProduct = void (*)(const float*, const float*, int64_t, float*, int64_t);
template <int V, int... T>
void multiply_tiles(std::integer_sequence<int, T...>, int tiles, const float* v, const float* u,
                    int64_t depth, float* m, int64_t m_step) {
  static constexpr WinogradProduct products[] = {winograd_product<T + 1, V>...};
  products[tiles - 1](v, u, depth, m, m_step);
}
void multiply_winograd(const float* v, const float* u, int64_t depth, int tiles, int vectors,
                       float* m, int64_t m_step) {
  if (vectors == 2)
    multiply_tiles<2>(std::make_integer_sequence<int, kMostSums / 2>(), tiles, v, u, depth, m,
                      m_step);
  else
    multiply_tiles<1>(std::make_integer_sequence<int, kMostSums>(), tiles, v, u, depth, m, m_step);
}

constexpr WinogradKernels kWinograd = {
    kTileLanes,
    kMostSums,
    multiply_winograd,
    {{4, winograd_input<4>, winograd_output<4>}, {6, winograd_input<6>, winograd_output<6>}}};

}  // namespace
}  // namespace tenon::cpu
