// What tests of kernels for several floating-point types share.
#pragma once

#include <algorithm>
#include <cmath>

#include "backend/testing.h"
#include "base/low_precision.h"
#include "ops/support/quantized_bytes.h"

namespace tenon {

constexpr DataType kFloatTypes[] = {DataType::kFLOAT, DataType::kHALF, DataType::kBF16};

/// What a result may differ by, of the largest element. float32: sums in another order. 16 bits:
/// four roundings of half a unit, where the reference rounds what kernels keep in float32.
inline double tolerance_of(DataType type) {
  return type == DataType::kFLOAT ? 1e-5 : type == DataType::kHALF ? 4.0 / 2048 : 4.0 / 256;
}

/// The inputs that are floats in that type.
inline std::vector<TestInput> in_type(DataType type, std::vector<TestInput> inputs) {
  if (type != DataType::kFLOAT)
    for (TestInput& in : inputs)
      if (in.tensor && in.tensor->type() == DataType::kFLOAT) in = as_type(type, in);
  return inputs;
}

/// Bytes of a result, as a Quantize behind it has them of its numbers.
inline void expect_bytes_of(const Tensor& bytes, const Tensor& numbers,
                            const QuantizedBytes& rule) {
  EXPECT_EQ(bytes.type(), rule.to);
  std::vector<double> expected = numbers.numbers();
  if (rule.to == DataType::kFP8) {
    std::vector<float> scaled(expected.begin(), expected.end());
    for (float& x : scaled) x /= rule.scale;
    Tensor rounded(DataType::kFP8, numbers.shape());
    write_low_precision(rule.to, scaled.data(), 0, rounded.count(),
                        rounded.mutable_data<uint8_t>());
    EXPECT_EQ(bytes.numbers(), rounded.numbers());
    return;
  }
  const IntegerRange range = rule.bounds.of(rule.to);
  for (double& x : expected)
    x = std::clamp(
        std::nearbyint(static_cast<float>(x) / rule.scale) + static_cast<float>(rule.zero),
        static_cast<float>(range.lowest), static_cast<float>(range.highest));
  EXPECT_EQ(bytes.numbers(), expected);
}

}  // namespace tenon
