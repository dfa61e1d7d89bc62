// Float64 tensors, as int64 with their bits, for tests.
#pragma once

#include <bit>
#include <vector>

#include "base/tensor.h"

namespace tenon::testing {

inline Tensor float64_tensor(const Shape& shape, const std::vector<double>& values) {
  std::vector<int64_t> bits;
  for (double value : values) bits.push_back(std::bit_cast<int64_t>(value));
  return Tensor::of<int64_t>(DataType::kINT64, shape, std::span<const int64_t>(bits));
}

inline std::vector<double> float64_numbers(const Tensor& t) {
  std::vector<double> values;
  for (int64_t bits : t.integers()) values.push_back(std::bit_cast<double>(bits));
  return values;
}

}  // namespace tenon::testing
