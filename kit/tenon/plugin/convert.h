/// Rows of 16-bit floats to floats and back, with the processor's own conversion where it has one.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tenon/plugin/elements.h"

#if !defined(__CUDACC__) && defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tenon {
namespace kit {

#if !defined(__CUDACC__) && defined(__x86_64__)
inline bool has_f16c() {
  static const bool has = __builtin_cpu_supports("f16c") && __builtin_cpu_supports("avx");
  return has;
}
__attribute__((target("f16c,avx"))) inline int64_t convert_f16c(const Half* from, float* to,
                                                                int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(to + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  return i;
}
__attribute__((target("f16c,avx"))) inline int64_t convert_f16c(const float* from, Half* to,
                                                                int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}
#endif

/// to[i] = from[i] for n elements; rounds to nearest, ties to even.
template <class From, class To> TENON_HD void convert(const From* from, To* to, int64_t n) {
  int64_t i = 0;
#if !defined(__CUDACC__) && defined(__x86_64__)
  if constexpr (!std::is_same_v<From, To>
                && (std::is_same_v<From, Half> || std::is_same_v<To, Half>))
    if (has_f16c()) i = convert_f16c(from, to, n);
#endif
  for (; i < n; ++i) to[i] = static_cast<To>(from[i]);
}

}  // namespace kit
}  // namespace tenon
