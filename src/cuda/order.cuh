// A total order of elements as unsigned integers.
#pragma once

#include <bit>

#include "cuda/element_types.cuh"

namespace tenon::cuda {

/// The smallest integer that keys of E fit.
template <class E>
using OrderKey = std::conditional_t<std::is_same_v<E, int64_t>, uint64_t, uint32_t>;

/// Orders elements as ops/order.h does: zeros of both signs are equal; a NaN is greater than every
/// number and equal to other NaNs.
template <class E> __device__ OrderKey<E> order_key(E element) {
  if constexpr (std::is_same_v<E, int64_t>) {
    return static_cast<uint64_t>(element) ^ uint64_t { 1 } << 63;
  } else if constexpr (std::is_integral_v<E>) {
    return static_cast<uint32_t>(static_cast<int32_t>(element)) ^ 0x80000000u;
  } else {
    const auto x = static_cast<float>(element);
    if (x != x) return 0xffffffffu;
    const auto bits = std::bit_cast<uint32_t>(x + 0.0f);  // -0 becomes 0
    return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
  }
}

}  // namespace tenon::cuda
