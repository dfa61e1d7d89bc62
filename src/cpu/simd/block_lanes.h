// A vector of channels of a block, which the loops of convolutions work on.
#pragma once

// All of it is inlined: nothing depends on how vectors are passed.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tenon::cpu {
namespace {

#if defined(__AVX512F__)
constexpr int kBlockLanes = 16;
#else
constexpr int kBlockLanes = 8;
#endif
constexpr int kLineVectors = 16 / kBlockLanes;  // of a cache line
typedef float BlockLanes __attribute__((vector_size(kBlockLanes * 4), aligned(4), may_alias));

inline BlockLanes load_lanes(const float* from) {
  return *reinterpret_cast<const BlockLanes*>(from);
}
inline void store_lanes(float* to, BlockLanes x) {
  *reinterpret_cast<BlockLanes*>(to) = x;
}

/// Says that this vector was not loaded, or compilers load it again for each product.
inline void hold([[maybe_unused]] BlockLanes& x) {
#if defined(__AVX512F__)
  asm("" : "+v"(x));
#elif defined(__AVX2__)
  asm("" : "+x"(x));
#endif
}

}  // namespace
}  // namespace tenon::cpu
