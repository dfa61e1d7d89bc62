#include "ops/support/quantized_bytes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/low_precision.h"
#include "ops/quantize.h"
#include "ops/support/reference.h"

namespace tenon {

void QuantizedBytes::visit(FieldVisitor& v, const std::string& prefix) {
  v(prefix.c_str(), used);
  if (!used) return;
  v((prefix + "_scale").c_str(), scale);
  v((prefix + "_zero").c_str(), zero);
  v((prefix + "_to").c_str(), to);
  v((prefix + "_lowest").c_str(), bounds.lowest);
  v((prefix + "_highest").c_str(), bounds.highest);
}

void QuantizedBytes::check() const {
  const bool is_float8 = to == DataType::kFP8;
  require(
      (is_byte(to) || is_float8) && scale > 0 && std::isfinite(scale) && std::isfinite(1 / scale),
      "expected a result of int8, uint8 or fp8 with a scale that is a number, as its reciprocal "
      "is, and above 0, found {} and {}",
      name_of(to), scale);
  bounds.check(to);
  require(!is_float8 || zero == 0, "fp8 has no zero point, found {}", zero);
  if (is_float8) return;
  const IntegerRange range = integer_range(to);
  require(range.lowest <= zero && zero <= range.highest, "a zero point of {} is none of {}", zero,
          name_of(to));
}

void QuantizedBytes::quantize(const TensorView& from, const TensorView& result) const {
  const Floats numbers(from);
  if (to == DataType::kFP8) {
    std::vector<float> scaled(static_cast<size_t>(from.shape.volume()));
    std::transform(numbers.data(), numbers.data() + scaled.size(), scaled.begin(),
                   [&](float x) { return x / scale; });
    return write_low_precision(to, scaled.data(), 0, from.shape.volume(), result.data);
  }
  const IntegerRange range = bounds.of(to);
  const auto low = static_cast<float>(range.lowest - zero);
  const auto high = static_cast<float>(range.highest - zero);
  for (int64_t i = 0; i < from.shape.volume(); ++i)
    result.as<uint8_t>()[i] = static_cast<uint8_t>(
        static_cast<int>(rounded(numbers.data()[i] / scale, low, high)) + zero);
}

}  // namespace tenon
