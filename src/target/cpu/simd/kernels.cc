#include "target/cpu/simd/kernels.h"

namespace tenon::cpu {

const SimdKernels& simd_kernels() {
  static const SimdKernels& best = []() -> const SimdKernels& {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
        && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("f16c"))
      return avx512::kKernels;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
        && __builtin_cpu_supports("f16c"))
      return avx2::kKernels;
#endif
    return baseline::kKernels;
  }();
  return best;
}

}  // namespace tenon::cpu
