#include "base/low_precision.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace tenon {
namespace {

constexpr uint32_t kInfinity = 0x7f800000u;

// Formats of a sign, an exponent and a mantissa, with subnormals.
struct Format {
  int mantissa_bits, min_exponent;  // of normal numbers
};
constexpr Format kE4M3{3, -6}, kE2M1{1, 0};

float decode(Format f, int bits) {
  const int exponent = bits >> f.mantissa_bits, mantissa = bits & ((1 << f.mantissa_bits) - 1);
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << f.mantissa_bits);
  return std::ldexp(static_cast<float>(whole),
                    f.min_exponent + std::max(exponent, 1) - 1 - f.mantissa_bits);
}

// The bits of a finite number of at most the largest magnitude, without its sign.
int encode(Format f, float magnitude) {
  const int exponent =
      std::max(static_cast<int>(std::bit_cast<uint32_t>(magnitude) >> 23) - 127, f.min_exponent);
  const int shift = f.mantissa_bits - exponent;
  const float scaled = magnitude * std::bit_cast<float>(static_cast<uint32_t>(127 + shift) << 23);
  constexpr float kRounds = 8388608;  // beyond it floats are whole
  const int whole = static_cast<int>((scaled + kRounds) - kRounds);
  // A mantissa that rounds up to the next power of two carries into the exponent.
  return ((exponent - f.min_exponent) << f.mantissa_bits) + whole;
}

uint8_t e4m3_of(float x, bool saturate) {
  constexpr uint8_t kNan = 0x7f, kLargest = 0x7e;
  const auto sign = static_cast<uint8_t>(std::signbit(x) ? 0x80 : 0);
  const float magnitude = std::fabs(x);
  if (std::isnan(x)) return sign | kNan;
  if (magnitude > 464)  // halfway between 448 and what would come next
    return sign | (saturate ? kLargest : kNan);
  return static_cast<uint8_t>(sign | encode(kE4M3, std::min(magnitude, kLargestFloat8)));
}

uint8_t e2m1_of(float x) {
  if (std::isnan(x)) return 8;
  const int sign = std::signbit(x) ? 8 : 0;
  return static_cast<uint8_t>(sign | encode(kE2M1, std::min(std::fabs(x), 6.f)));
}

uint8_t e8m0_of(float x, const LowPrecisionRules& rules) {
  constexpr uint8_t kNan = 255, kLargest = 254;
  if (std::isnan(x) || x < 0) return kNan;
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if (bits == kInfinity) return rules.saturate ? kLargest : kNan;
  uint32_t exponent = bits >> 23;
  const uint32_t fraction = bits & 0x7fffffu;
  constexpr uint32_t kHalf = 0x400000u;
  // A subnormal float of fraction one half is the smallest scale, 2^-127.
  const uint32_t exact = exponent == 0 ? kHalf : 0;
  if (rules.power_rounding == PowerRounding::kUp && fraction > exact) ++exponent;
  if (rules.power_rounding == PowerRounding::kNearest
      && fraction >= exact + kHalf / (exact ? 2 : 1))
    ++exponent;
  if (exponent > kLargest) return rules.saturate ? kLargest : kNan;
  return static_cast<uint8_t>(exponent);
}

uint8_t int4_of(float x) {
  if (std::isnan(x)) return 0;
  return static_cast<uint8_t>(static_cast<int64_t>(std::clamp(x, -0x1p40f, 0x1p40f)) & 15);
}

const std::array<float, 256>& e4m3_values() {
  static const auto values = [] {
    std::array<float, 256> v{};
    for (size_t i = 0; i < 128; ++i) {
      v[i] =
          i == 127 ? std::numeric_limits<float>::quiet_NaN() : decode(kE4M3, static_cast<int>(i));
      v[i + 128] = -v[i];
    }
    return v;
  }();
  return values;
}

float e8m0_value(uint8_t bits) {
  if (bits == 255) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(bits == 0 ? 0x400000u : static_cast<uint32_t>(bits) << 23);
}

std::array<float, 16> nibble_values(DataType type) {
  std::array<float, 16> v{};
  for (int i = 0; i < 16; ++i)
    v[static_cast<size_t>(i)] = type == DataType::kINT4 ? static_cast<float>(i < 8 ? i : i - 16)
                                : i < 8                 ? decode(kE2M1, i)
                                                        : -decode(kE2M1, i - 8);
  return v;
}

[[noreturn]] void not_low_precision(DataType type) {
  fail(ErrorCode::kINTERNAL_ERROR, "{} is not a low-precision type", name_of(type));
}

}  // namespace

bool is_low_precision(DataType type) {
  return type == DataType::kFP8 || type == DataType::kE8M0 || bits_of(type) < 8;
}

void read_low_precision(DataType type, const void* data, int64_t begin, int64_t end, float* to) {
  const auto* from = static_cast<const uint8_t*>(data);
  if (bits_of(type) == 4) {
    const auto values = nibble_values(type);
    for (int64_t i = begin; i < end; ++i)
      *to++ = values[static_cast<size_t>(from[i / 2] >> (i % 2 * 4) & 15)];
    return;
  }
  if (type == DataType::kFP8) {
    const auto& values = e4m3_values();
    for (int64_t i = begin; i < end; ++i) *to++ = values[from[i]];
  } else if (type == DataType::kE8M0) {
    for (int64_t i = begin; i < end; ++i) *to++ = e8m0_value(from[i]);
  } else {
    not_low_precision(type);
  }
}

void write_low_precision(DataType type, const float* from, int64_t begin, int64_t end, void* data,
                         const LowPrecisionRules& rules) {
  auto* to = static_cast<uint8_t*>(data);
  if (bits_of(type) == 4) {
    const auto nibble = [&](float x) { return type == DataType::kINT4 ? int4_of(x) : e2m1_of(x); };
    for (int64_t i = begin; i < end; i += 2, from += 2) {
      const int high = i + 1 < end ? nibble(from[1]) << 4 : 0;
      to[i / 2] = static_cast<uint8_t>(nibble(from[0]) | high);
    }
    return;
  }
  if (type == DataType::kFP8) {
    for (int64_t i = begin; i < end; ++i) to[i] = e4m3_of(*from++, rules.saturate);
  } else if (type == DataType::kE8M0) {
    for (int64_t i = begin; i < end; ++i) to[i] = e8m0_of(*from++, rules);
  } else {
    not_low_precision(type);
  }
}

}  // namespace tenon
