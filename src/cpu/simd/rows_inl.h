// Loops over rows of floats that are no pointwise steps: sums, taps, copies and conversions.
#pragma once

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include <cstdint>

#include "cpu/simd/block_lanes.h"

namespace tenon::cpu {
namespace {

// Every loop reads its elements before it writes them, so that this holds even in place.
#if defined(__clang__)
#define TENON_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TENON_INDEPENDENT _Pragma("GCC ivdep")
#endif

constexpr int64_t kLanes = 16;

// NaNs win, as in the reference.
struct Sum {
  static constexpr float kNeutral = 0;
  static float of(float a, float b) { return a + b; }
};
struct Product {
  static constexpr float kNeutral = 1;
  static float of(float a, float b) { return a * b; }
};
struct Maximum {
  static constexpr float kNeutral = -__builtin_inff();
  static float of(float a, float b) { return a != a ? a : b <= a ? a : b; }
};
struct Minimum {
  static constexpr float kNeutral = __builtin_inff();
  static float of(float a, float b) { return a != a ? a : b >= a ? a : b; }
};

template <class Combine> inline void fold_row(float* totals, const float* in, int64_t n) {
  TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) totals[i] = Combine::of(totals[i], in[i]);
}
template <class Combine> inline float reduce_row(const float* in, int64_t n) {
  constexpr int64_t kWide = 4 * kLanes;
  float lanes[kWide];
  for (int64_t k = 0; k < kWide; ++k) lanes[k] = Combine::kNeutral;
  int64_t i = 0;
  for (; i + kWide <= n; i += kWide) fold_row<Combine>(lanes, in + i, kWide);
  fold_row<Combine>(lanes, in + i, n - i);
  for (int64_t half = kWide / 2; half > 0; half /= 2) fold_row<Combine>(lanes, lanes + half, half);
  return lanes[0];
}
float sum(const float* in, int64_t n) {
  return reduce_row<Sum>(in, n);
}
float product(const float* in, int64_t n) {
  return reduce_row<Product>(in, n);
}
float maximum_of(const float* in, int64_t n) {
  return reduce_row<Maximum>(in, n);
}
float minimum_of(const float* in, int64_t n) {
  return reduce_row<Minimum>(in, n);
}

void fold_sum(float* totals, const float* in, int64_t n) {
  fold_row<Sum>(totals, in, n);
}
void fold_product(float* totals, const float* in, int64_t n) {
  fold_row<Product>(totals, in, n);
}
void fold_maximum(float* totals, const float* in, int64_t n) {
  fold_row<Maximum>(totals, in, n);
}
void fold_minimum(float* totals, const float* in, int64_t n) {
  fold_row<Minimum>(totals, in, n);
}

// Of elements side by side, in the vectors that fill a block of channels.
inline void maxima_of_row(const float* in, const int64_t* offsets, int64_t taps, int64_t n,
                          float* out) {
  const auto vector_at = [&](int64_t i) {
    BlockLanes largest = load_lanes(in + offsets[0] + i);
    for (int64_t t = 1; t < taps; ++t) {
      const BlockLanes x = load_lanes(in + offsets[t] + i);
      const BlockLanes larger = x > largest ? x : largest;
      largest = x != x ? x : larger;
    }
    store_lanes(out + i, largest);
  };
  if (n >= kBlockLanes) {
    for (int64_t i = 0; i + kBlockLanes < n; i += kBlockLanes) vector_at(i);
    return vector_at(n - kBlockLanes);  // may be some of the one before, again
  }
  for (int64_t i = 0; i < n; ++i) {
    float largest = in[offsets[0] + i];
    for (int64_t t = 1; t < taps; ++t) largest = Maximum::of(largest, in[offsets[t] + i]);
    out[i] = largest;
  }
}

void maxima(const float* in, const int64_t* offsets, int64_t taps, int64_t results, int64_t step,
            int64_t n, float* out) {
  if (n == 1 && step == 1) return maxima_of_row(in, offsets, taps, results, out);
  if (n > 1) {
    for (int64_t r = 0; r < results; ++r)
      maxima_of_row(in + r * step, offsets, taps, n, out + r * n);
    return;
  }
  TENON_INDEPENDENT for (int64_t r = 0; r < results; ++r) out[r] = in[r * step + offsets[0]];
  for (int64_t t = 1; t < taps; ++t) {
    const float* from = in + offsets[t];
    TENON_INDEPENDENT for (int64_t r = 0; r < results; ++r) out[r] =
        Maximum::of(out[r], from[r * step]);
  }
}

// Taps in pairs, so that a row is written once for linear and twice for cubic filters.
void gather_taps(const float* in, const int32_t* positions, const float* weights, int64_t taps,
                 int64_t n, float* out) {
  for (int64_t t = 0; t < taps; t += 2) {
    const int32_t* p = positions + t * n;
    const float* w = weights + t * n;
    const bool single = t + 1 == taps, first = t == 0;
    if (single && first) {
      TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) out[i] = w[i] * in[p[i]];
    } else if (single) {
      TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) out[i] += w[i] * in[p[i]];
    } else if (first) {
      TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) out[i] =
          w[i] * in[p[i]] + w[n + i] * in[p[n + i]];
    } else {
      TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) out[i] +=
          w[i] * in[p[i]] + w[n + i] * in[p[n + i]];
    }
  }
}

void mix_rows(const float* in, const int64_t* offsets, const float* weights, int64_t taps,
              int64_t n, float* out) {
  int64_t t = 0;
  if (taps >= 4) {
    const float *a = in + offsets[0], *b = in + offsets[1], *c = in + offsets[2],
                *d = in + offsets[3];
    const float u = weights[0], v = weights[1], w = weights[2], x = weights[3];
    TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) out[i] =
        u * a[i] + v * b[i] + w * c[i] + x * d[i];
    t = 4;
  } else if (taps >= 2) {
    const float *a = in + offsets[0], *b = in + offsets[1];
    const float u = weights[0], v = weights[1];
    TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) out[i] = u * a[i] + v * b[i];
    t = 2;
  } else {
    const float* a = in + offsets[0];
    const float u = weights[0];
    TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) out[i] = u * a[i];
    t = 1;
  }
  for (; t < taps; ++t) {
    const float* a = in + offsets[t];
    const float u = weights[t];
    TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) out[i] += u * a[i];
  }
}

void pick(const uint32_t* in, const int32_t* positions, int64_t n, uint32_t* out) {
  TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) out[i] = in[positions[i]];
}

#if defined(__AVX2__)
void turn(const uint32_t* in, int64_t in_step, uint32_t* out, int64_t out_step) {
  __m256 r[8], t[8];
  for (int i = 0; i < 8; ++i)
    r[i] = _mm256_loadu_ps(reinterpret_cast<const float*>(in + i * in_step));
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    r[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
    r[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
    r[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
    r[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(reinterpret_cast<float*>(out + i * out_step),
                     _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(reinterpret_cast<float*>(out + (i + 4) * out_step),
                     _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}
#else
void turn(const uint32_t* in, int64_t in_step, uint32_t* out, int64_t out_step) {
  for (int64_t i = 0; i < 8; ++i)
    for (int64_t j = 0; j < 8; ++j) out[i * out_step + j] = in[j * in_step + i];
}
#endif

// Each round puts row i + 8 between the elements of row i; after four, columns are rows.
void turn_bytes(const uint8_t* in, int64_t in_step, uint8_t* out, int64_t out_step) {
  constexpr int kTile = 16;
  typedef uint8_t Row __attribute__((vector_size(kTile), aligned(1), may_alias));
  Row rows[kTile], mixed[kTile];
  for (int i = 0; i < kTile; ++i) rows[i] = *reinterpret_cast<const Row*>(in + i * in_step);
  for (int round = 0; round < 4; ++round) {
#pragma GCC unroll 8
    for (int i = 0; i < kTile / 2; ++i) {
      const Row a = rows[i], b = rows[i + kTile / 2];
      mixed[2 * i] =
          __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      mixed[2 * i + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                                 14, 30, 15, 31);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kTile; ++i) rows[i] = mixed[i];
  }
  for (int i = 0; i < kTile; ++i) *reinterpret_cast<Row*>(out + i * out_step) = rows[i];
}

// Sums of parts in float are added in double, so that long rows lose nothing.
constexpr int64_t kPart = 4096;

inline double sum_of_squares(const float* in, int64_t n, float mean) {
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kPart) {
    const int64_t end = n - begin < kPart ? n : begin + kPart;
    float lanes[kLanes] = {};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes)
      for (int64_t k = 0; k < kLanes; ++k) lanes[k] += (in[i + k] - mean) * (in[i + k] - mean);
    float rest = 0;
    for (; i < end; ++i) rest += (in[i] - mean) * (in[i] - mean);
    for (int64_t k = 0; k < kLanes; ++k) rest += lanes[k];
    total += double{rest};
  }
  return total;
}

void normalize(const float* in, const float* scale, const float* bias, int64_t step, float epsilon,
               bool subtracts_mean, float* out, int64_t n) {
  double total = 0;
  for (int64_t i = 0; subtracts_mean && i < n; i += kPart)
    total += double{sum(in + i, n - i < kPart ? n - i : kPart)};
  const double count = static_cast<double>(n);
  const float mean = static_cast<float>(total / count);
  const double variance = sum_of_squares(in, n, mean) / count + double{epsilon};
  const float inverse = static_cast<float>(1 / __builtin_sqrt(variance));
  if (step == 0) {
    const float factor = inverse * *scale, shift = *bias;
    TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) out[i] = (in[i] - mean) * factor + shift;
  } else {
    TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) out[i] =
        (in[i] - mean) * inverse * scale[i] + bias[i];
  }
}

void half_to_float(const uint16_t* in, float* out, int64_t n) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(out + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
#endif
  for (; i < n; ++i) out[i] = static_cast<float>(__builtin_bit_cast(_Float16, in[i]));
}

void float_to_half(const float* in, uint16_t* out, int64_t n) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < n; ++i) out[i] = __builtin_bit_cast(uint16_t, static_cast<_Float16>(in[i]));
}

void bfloat_to_float(const uint16_t* in, float* out, int64_t n) {
  TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) out[i] =
      __builtin_bit_cast(float, static_cast<uint32_t>(in[i]) << 16);
}

// To the nearest, ties to even; a NaN stays one.
void float_to_bfloat(const float* in, uint16_t* out, int64_t n) {
  TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) {
    const auto word = __builtin_bit_cast(uint32_t, in[i]);
    const uint32_t rounded = (word + 0x7fffu + (word >> 16 & 1u)) >> 16;
    const uint32_t quiet = word >> 16 | 0x40u;
    out[i] = static_cast<uint16_t>((word & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
  }
}

void int_to_float(const int32_t* in, float* out, int64_t n) {
  TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]);
}

template <class Byte> void bytes_to_float(const uint8_t* in, float* out, int64_t n) {
  TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) out[i] =
      static_cast<float>(static_cast<int32_t>(static_cast<Byte>(in[i])));
}

void look_up_each(const uint8_t* table, const uint8_t* in, uint8_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = table[in[i]];
}

#if defined(__AVX512BW__)
// A table is four vectors; the highest bit of a byte says which two.
__attribute__((target("avx512vbmi"))) void look_up_vectors(const uint8_t* table, const uint8_t* in,
                                                           uint8_t* out, int64_t n) {
  __m512i part[4];
  for (int i = 0; i < 4; ++i) part[i] = _mm512_loadu_si512(table + 64 * i);
  constexpr int64_t kVector = 64;
  for (int64_t i = 0; i < n; i += kVector) {
    const __mmask64 some = n - i < kVector ? (__mmask64{1} << (n - i)) - 1 : ~__mmask64{0};
    const __m512i x = _mm512_maskz_loadu_epi8(some, in + i);
    const __m512i low = _mm512_permutex2var_epi8(part[0], x, part[1]);
    const __m512i high = _mm512_permutex2var_epi8(part[2], x, part[3]);
    _mm512_mask_storeu_epi8(out + i, some,
                            _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high));
  }
}

void look_up_bytes(const uint8_t* table, const uint8_t* in, uint8_t* out, int64_t n) {
  static const bool has_vectors = __builtin_cpu_supports("avx512vbmi");
  (has_vectors ? look_up_vectors : look_up_each)(table, in, out, n);
}
#else
void look_up_bytes(const uint8_t* table, const uint8_t* in, uint8_t* out, int64_t n) {
  look_up_each(table, in, out, n);
}
#endif

void interleave_three(const uint8_t* in, int64_t step, int64_t n, uint8_t* out) {
  const uint8_t *const a = in, *const b = in + step, *const c = in + 2 * step;
  TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) {
    out[3 * i] = a[i];
    out[3 * i + 1] = b[i];
    out[3 * i + 2] = c[i];
  }
}

void round_to_bytes(const float* in, float low, float high, int32_t zero, uint8_t* out, int64_t n) {
  constexpr float kRounds = 12582912;  // 1.5 * 2^23: the sum's last bits are the nearest integer
  TENON_INDEPENDENT for (int64_t i = 0; i < n; ++i) {
    float x = in[i] > low ? in[i] : low;
    x = x < high ? x : high;
    out[i] = static_cast<uint8_t>(static_cast<int32_t>((x + kRounds) - kRounds) + zero);
  }
}

}  // namespace
}  // namespace tenon::cpu
