// Nothing but multiply-adds in registers: what the processor can at best.
#pragma once

#include "cpu/simd/product.h"

namespace tenon::cpu {
namespace {

// As many as two units have under way, and no more than there are registers for.
#if defined(__AVX512F__)
constexpr int kChains = 24;
#else
constexpr int kChains = 12;
#endif

float chains_of_multiply_adds(int64_t rounds) {
  static const volatile float factor = 0.999f, summand = 0.001f;
  const Vector x = Vector{} + factor, y = Vector{} + summand;
  Vector sum[kChains];
  for (int i = 0; i < kChains; ++i) sum[i] = Vector{} + static_cast<float>(i);  // none is another's
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 24
    for (int i = 0; i < kChains; ++i) sum[i] = sum[i] * x + y;
  }
  Vector total = {};
#pragma GCC unroll 24
  for (int i = 0; i < kChains; ++i) total += sum[i];
  return total[0];
}

}  // namespace
}  // namespace tenon::cpu
