// The loop behind simd/winograd_transform.h.
#pragma once

#include <algorithm>

#include "cpu/simd/winograd_transform.h"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace tenon::cpu {
namespace {

using TransformLanes = double[kTransformLanes];

// A row of G times taps.
template <int Window>
inline void transform_taps(const double* row, const TransformLanes* taps, TransformLanes& out) {
  for (int lane = 0; lane < kTransformLanes; ++lane) {
    double sum = 0;  // so that no sum is a negative zero
#pragma GCC unroll 5
    for (int k = 0; k < Window; ++k) sum += row[k] * taps[k][lane];
    out[lane] = sum;
  }
}

// A line of the cache, which is written whole, and read by nobody soon: not to read what was there
// saves a third of the traffic.
inline void store(const TransformLanes& sums, float* to) {
#ifdef __AVX512F__
  if (reinterpret_cast<uintptr_t>(to) % (kTransformLanes * sizeof(float)) == 0) {
    const __m512 low = _mm512_castps256_ps512(_mm512_cvtpd_ps(_mm512_load_pd(sums)));
    const __m256 high = _mm512_cvtpd_ps(_mm512_load_pd(sums + kTransformLanes / 2));
    _mm512_stream_ps(to, _mm512_insertf32x8(low, high, 1));
    return;
  }
#endif
  for (int lane = 0; lane < kTransformLanes; ++lane) to[lane] = static_cast<float>(sums[lane]);
}

template <int Window>
void transform_window(const WinogradPoints& g, const float* taps, float* out, const int64_t* planes,
                      int lanes) {
  alignas(64) TransformLanes window[Window * Window], columns[kMaxWinogradSize * Window], sums;
  for (int i = 0; i < Window * Window; ++i)
    for (int lane = 0; lane < kTransformLanes; ++lane)
      window[i][lane] = static_cast<double>(taps[i * kTransformLanes + lane]);
  for (int i = 0; i < g.size; ++i)
    for (int j = 0; j < Window; ++j)
      transform_taps<Window>(g.rows[i], window + j * Window, columns[i * Window + j]);
  for (int i = 0; i < g.size; ++i)
    for (int j = 0; j < g.size; ++j) {
      const int64_t plane = planes[i * g.size + j];
      if (plane < 0) continue;
      transform_taps<Window>(g.rows[j], columns + i * Window, sums);
      float* const to = out + plane;
      if (lanes == kTransformLanes) {
        store(sums, to);
      } else {
        for (int lane = 0; lane < lanes; ++lane) to[lane] = static_cast<float>(sums[lane]);
      }
    }
}

void transform_winograd(const WinogradPoints& g, const float* taps, float* out,
                        const int64_t* planes, int lanes) {
  if (g.window == 3)
    transform_window<3>(g, taps, out, planes, lanes);
  else
    transform_window<5>(g, taps, out, planes, lanes);
}

}  // namespace
}  // namespace tenon::cpu
