// Vectors that stay in their registers.
#pragma once

namespace tenon::cpu {
namespace {

/// Says that this vector was not loaded, or compilers load it again for each product.
template <class Lanes> inline void hold(Lanes& x) {
#if defined(__AVX512F__)
  asm("" : "+v"(x));
#elif defined(__AVX2__)
  asm("" : "+x"(x));
#endif
}

}  // namespace
}  // namespace tenon::cpu
