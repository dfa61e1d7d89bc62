// A total order of elements as unsigned integers.
#pragma once

#include <bit>

#include "cuda/element_types.cuh"

namespace tenon::cuda {

/// The smallest integer that keys of E fit.
template <class E>
using OrderKey = std::conditional_t<std::is_same_v<E, int64_t>, uint64_t, uint32_t>;

/// Keys of NaNs: greater than every number, or less.
constexpr uint32_t kNanIsGreatest = 0xffffffffu, kNanIsLeast = 0;

/// Orders elements as ops/support/order.h does: zeros of both signs are equal, and so are NaNs.
template <class E>
__device__ OrderKey<E> order_key(E element, [[maybe_unused]] uint32_t nan = kNanIsGreatest) {
  if constexpr (std::is_same_v<E, int64_t>) {
    return static_cast<uint64_t>(element) ^ uint64_t { 1 } << 63;
  } else if constexpr (std::is_integral_v<E>) {
    return static_cast<uint32_t>(static_cast<int32_t>(element)) ^ 0x80000000u;
  } else {
    const auto x = static_cast<float>(element);
    if (x != x) return nan;
    const auto bits = std::bit_cast<uint32_t>(x + 0.0f);  // -0 becomes 0
    return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
  }
}

}  // namespace tenon::cuda
