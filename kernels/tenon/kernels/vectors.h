/// Loops over elements, compiled for the vectors that the processor has.
#pragma once

#if !defined(__CUDACC__)

#include "tenon/plugin/spec.h"

namespace tenon::kernels::inline TENON_TARGET {

#if defined(__x86_64__)
inline bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}
template <class F> __attribute__((target("avx2"), flatten)) void call_with_avx2(const F& f) {
  f();
}
#endif

/// Calls f() in a form that may use AVX2. Whatever it calls becomes a part of it, so `f` is a loop,
/// not a program. Results are the same to the bit either way.
template <class F> void with_vectors(const F& f) {
#if defined(__x86_64__)
  if (has_avx2()) return call_with_avx2(f);
#endif
  f();
}

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
