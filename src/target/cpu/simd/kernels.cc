#include "target/cpu/simd/kernels.h"

namespace tenon::cpu {

std::vector<const SimdKernels*> supported_simd_kernels() {
  std::vector<const SimdKernels*> supported = {&baseline::kKernels};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
      && __builtin_cpu_supports("f16c"))
    supported.push_back(&avx2::kKernels);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
      && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")
      && __builtin_cpu_supports("f16c"))
    supported.push_back(&avx512::kKernels);
#endif
  return supported;
}

const SimdKernels& simd_kernels() {
  static const SimdKernels& best = *supported_simd_kernels().back();
  return best;
}

}  // namespace tenon::cpu
