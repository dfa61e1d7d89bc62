#include "target/cpu/simd/byte_product.h"

#include "target/cpu/simd/kernels.h"

namespace tenon::cpu {

std::vector<const ByteProductKernels*> supported_byte_product_kernels() {
  std::vector<const ByteProductKernels*> supported;
#if defined(__x86_64__)
  for (const SimdKernels* simd : supported_simd_kernels()) {
    if (simd == &avx2::kKernels) supported.push_back(&avx2::kByteProducts);
    if (simd == &avx512::kKernels && __builtin_cpu_supports("avx512vnni"))
      supported.push_back(&avx512::kByteProducts);
  }
#endif
  return supported;
}

const ByteProductKernels* byte_product_kernels() {
  static const ByteProductKernels* const best = [] {
    const auto supported = supported_byte_product_kernels();
    return supported.empty() ? nullptr : supported.back();
  }();
  return best;
}

void find_quick(const ByteProductKernels& kernels, ByteSum& sum) {
  const double product = static_cast<double>(sum.product_scale) / sum.scale;
  const double addend = static_cast<double>(sum.addend_scale) / sum.scale;
  // Where a number lies near the middle of two bytes, factors a little larger or smaller may serve.
  constexpr int kTries[] = {0, 1, -1, 2, -2};
  constexpr double kStep = 1. / (1 << 24);
  for (const int p : kTries)
    for (const int a : kTries) {
      sum.quick_product = static_cast<float>(product * (1 + p * kStep));
      sum.quick_addend = static_cast<float>(addend * (1 + a * kStep));
      sum.quick_shift = -static_cast<float>(sum.addend_zero) * sum.quick_addend;
      sum.is_quick = kernels.is_quick(sum);
      if (sum.is_quick) return;
    }
}

}  // namespace tenon::cpu
