/// Code compiled for the widest vectors of the processor, with fused products and sums.
#pragma once

#if !defined(__CUDACC__)

#include <type_traits>

#include "tenon/plugin/elements.h"

namespace tenon {
namespace kit {
inline namespace TENON_TARGET {

/// A vector of floats that may lie anywhere in memory.
template <int width> struct VectorOf {
  typedef float type __attribute__((vector_size(width * sizeof(float)), aligned(4), may_alias));
};
template <int width> using Vector = typename VectorOf<width>::type;
template <int width> using Width = std::integral_constant<int, width>;

#if defined(__x86_64__)
#if defined(__clang__)
#define TENON_AVX512 "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,f16c"
#else
#define TENON_AVX512 "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,f16c,prefer-vector-width=512"
#endif
template <class F>
__attribute__((target(TENON_AVX512), flatten)) void call_wide(const F& f, Width<16> width) {
  f(width);
}
template <class F>
__attribute__((target("avx2,fma,f16c"), flatten)) void call_wide(const F& f, Width<8> width) {
  f(width);
}
#undef TENON_AVX512

inline int widest_vector() {
  static const int width = [] {
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
                          && __builtin_cpu_supports("f16c");
    const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
                            && __builtin_cpu_supports("avx512bw")
                            && __builtin_cpu_supports("avx512dq");
    return !has_avx2 ? 4 : has_avx512 ? 16 : 8;
  }();
  return width;
}
#endif

/// Calls f(Width<n>()) for the largest n of 4, 8 and 16 whose Vector<n> the processor has. Whatever
/// f calls becomes a part of it, so it should be a loop over much work, and not a program.
template <class F> void with_wide_vectors(const F& f) {
#if defined(__x86_64__)
  if (widest_vector() == 16) return call_wide(f, Width<16>());
  if (widest_vector() == 8) return call_wide(f, Width<8>());
#endif
  f(Width<4>());
}

}  // namespace TENON_TARGET
}  // namespace kit
}  // namespace tenon
#endif
