// Matrices are computed in double precision.
#pragma once

#include <algorithm>
#include <array>

namespace tenon::serve {

template <size_t n> std::array<float, n> floats(const std::array<double, n>& values) {
  std::array<float, n> result;
  std::transform(values.begin(), values.end(), result.begin(),
                 [](double value) { return static_cast<float>(value); });
  return result;
}

}  // namespace tenon::serve
