// A total order of the elements of every type, as integers.
#pragma once

#include <bit>

#include "ops/support/reference.h"

namespace tenon {

/// The smallest integer that order_key() of T fits.
template <class T>
using OrderKey = std::conditional_t<std::is_same_v<T, int64_t>, int64_t, int32_t>;

/// Keys of NaNs: greater than every number, or less.
constexpr int32_t kNanIsGreatest = INT32_MAX, kNanIsLeast = INT32_MIN;

/// An integer that orders elements as their values do. Zeros of both signs are equal, and so are
/// NaNs.
template <class T> OrderKey<T> order_key(T element, int32_t nan = kNanIsGreatest) {
  if constexpr (is_real<T>) {
    const float x = static_cast<float>(element);
    const auto bits = std::bit_cast<int32_t>(x);
    // Negative floats are sign and magnitude; -0 becomes 0.
    const int32_t key = bits >= 0 ? bits : -(bits & INT32_MAX);
    return x == x ? key : nan;
  } else {
    return static_cast<OrderKey<T>>(element);
  }
}

}  // namespace tenon
