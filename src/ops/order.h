// A total order of the elements of every type, as integers.
#pragma once

#include <bit>

#include "ops/reference.h"

namespace tenon {

/// An integer that orders elements as their values do. Zeros of both signs are equal; a NaN is
/// greater than every number and equal to other NaNs.
template <class T> int64_t order_key(T element) {
  if constexpr (is_real<T>) {
    const float x = static_cast<float>(element);
    if (x != x) return INT64_MAX;
    const auto bits = std::bit_cast<int32_t>(x);
    // Negative floats are sign and magnitude; -0 becomes 0.
    return bits >= 0 ? bits : -static_cast<int64_t>(bits & INT32_MAX);
  } else {
    return load(element);
  }
}

}  // namespace tenon
