#include "target/cpu/simd/byte_product.h"

#include "target/cpu/simd/kernels.h"

namespace tenon::cpu {

const ByteProductKernels* byte_product_kernels() {
#if defined(__x86_64__)
  static const bool supported =
      &simd_kernels() == &avx512::kKernels && __builtin_cpu_supports("avx512vnni");
  if (supported) return &avx512::kByteProducts;
#endif
  return nullptr;
}

}  // namespace tenon::cpu
