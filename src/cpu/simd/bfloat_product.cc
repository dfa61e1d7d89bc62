#include "cpu/simd/bfloat_product.h"

#include "cpu/instruction_set.h"

namespace tenon::cpu {

std::vector<const BfloatKernels*> supported_bfloat_kernels() {
  std::vector<const BfloatKernels*> supported;
#if defined(__x86_64__)
  const InstructionSet limit = instruction_set_limit();
  if (limit >= InstructionSet::kAvx512Bf16) supported.push_back(&avx512::kBfloatKernels);
  if (limit >= InstructionSet::kAmx) supported.push_back(&avx512::kAmxBfloatKernels);
#endif
  return supported;
}

const BfloatKernels* bfloat_kernels() {
  static const BfloatKernels* const best = [] {
    const auto supported = supported_bfloat_kernels();
    return supported.empty() ? nullptr : supported.back();
  }();
  return best;
}

std::vector<int64_t> packed_offsets(int64_t depth) {
  std::vector<int64_t> offsets;
  for (int64_t step = 0; step < bfloat_steps(depth); ++step)
    offsets.push_back(step * kBfloatTile * kBfloatStep);
  return offsets;
}

}  // namespace tenon::cpu
