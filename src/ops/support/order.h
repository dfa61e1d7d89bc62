// A total order of the elements of every type, as integers.
#pragma once

#include <bit>

#include "ops/support/reference.h"

namespace tenon {

/// The smallest integer that order_key() of T fits.
template <class T>
using OrderKey = std::conditional_t<std::is_same_v<T, int64_t>, int64_t, int32_t>;

/// An integer that orders elements as their values do. Zeros of both signs are equal; a NaN is
/// greater than every number and equal to other NaNs.
template <class T> OrderKey<T> order_key(T element) {
  if constexpr (is_real<T>) {
    const float x = static_cast<float>(element);
    const auto bits = std::bit_cast<int32_t>(x);
    // Negative floats are sign and magnitude; -0 becomes 0.
    const int32_t key = bits >= 0 ? bits : -(bits & INT32_MAX);
    return x == x ? key : INT32_MAX;
  } else {
    return static_cast<OrderKey<T>>(element);
  }
}

}  // namespace tenon
