#include "cpu/simd/byte_product.h"

#include "cpu/instruction_set.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {

#if defined(__x86_64__)
namespace {

// AVX-512's, but for the products of weights of int8.
const ByteProductKernels& amx_byte_products() {
  static const ByteProductKernels int8 = [] {
    ByteProductKernels kernels = avx512::kInt8ByteProducts;
    kernels.segment = avx512::kTilePixels;
    kernels.product = avx512::product_by_tiles;
    kernels.timing_id = "amx";
    return kernels;
  }();
  static const ByteProductKernels all = [] {
    ByteProductKernels kernels = avx512::kByteProducts;
    kernels.int8 = &int8;
    return kernels;
  }();
  return all;
}

}  // namespace
#endif

std::vector<const ByteProductKernels*> supported_byte_product_kernels() {
  std::vector<const ByteProductKernels*> supported;
#if defined(__x86_64__)
  const InstructionSet limit = instruction_set_limit();
  if (limit >= InstructionSet::kAvx2) supported.push_back(&avx2::kByteProducts);
  if (limit >= InstructionSet::kAvx512Vnni) supported.push_back(&avx512::kByteProducts);
  if (limit >= InstructionSet::kAmx) supported.push_back(&amx_byte_products());
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

void find_fast(const ByteProductKernels& kernels, ByteSum& sum) {
  const double product = static_cast<double>(sum.product_scale) / sum.scale;
  const double addend = static_cast<double>(sum.addend_scale) / sum.scale;
  // Where a number lies near the middle of two bytes, factors a little larger or smaller may serve.
  constexpr int kTries[] = {0, 1, -1, 2, -2};
  constexpr double kStep = 1. / (1 << 24);
  for (const int p : kTries)
    for (const int a : kTries) {
      sum.fast_product = static_cast<float>(product * (1 + p * kStep));
      sum.fast_addend = static_cast<float>(addend * (1 + a * kStep));
      sum.fast_shift = -static_cast<float>(sum.addend_zero) * sum.fast_addend;
      sum.is_fast = kernels.is_fast(sum);
      if (sum.is_fast) return;
    }
}

}  // namespace tenon::cpu
