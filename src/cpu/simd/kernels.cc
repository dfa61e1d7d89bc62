#include "cpu/simd/kernels.h"

#include "cpu/instruction_set.h"
#include "cpu/simd/winograd_transform.h"

namespace tenon::cpu {

std::vector<const SimdKernels*> supported_simd_kernels() {
  std::vector<const SimdKernels*> supported = {&baseline::kKernels};
#if defined(__x86_64__)
  const InstructionSet limit = instruction_set_limit();
  if (limit >= InstructionSet::kAvx2) supported.push_back(&avx2::kKernels);
  if (limit >= InstructionSet::kAvx512) supported.push_back(&avx512::kKernels);
#endif
  return supported;
}

const SimdKernels& simd_kernels() {
  static const SimdKernels& best = *supported_simd_kernels().back();
  return best;
}

WinogradTransform winograd_transform() {
#if defined(__x86_64__)
  if (&simd_kernels() == &avx512::kKernels) return avx512::kWinogradTransform;
  if (&simd_kernels() == &avx2::kKernels) return avx2::kWinogradTransform;
#endif
  return baseline::kWinogradTransform;
}

}  // namespace tenon::cpu
