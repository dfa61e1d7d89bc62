// Vectors that stay in their registers.
#pragma once

namespace tenon::cpu {
namespace {

#if defined(__AVX512F__)
constexpr int kHeldBytes = 64;
#else
constexpr int kHeldBytes = 32;
#endif
typedef float HeldLanes __attribute__((vector_size(kHeldBytes), aligned(4), may_alias));

/// Says that this vector was not loaded, or compilers load it again for each product.
inline void hold([[maybe_unused]] HeldLanes& x) {
#if defined(__AVX512F__)
  asm("" : "+v"(x));
#elif defined(__AVX2__)
  asm("" : "+x"(x));
#endif
}

}  // namespace
}  // namespace tenon::cpu
