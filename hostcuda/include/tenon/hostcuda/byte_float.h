/// 8-bit floats: conversions, rounded once, to nearest with ties to even.
#pragma once

#include <cmath>
#include <cstdint>

namespace tenon::hostcuda {

/// The layout of an 8-bit float: bits of its fraction, its exponent's bias, the code of its largest
/// number, and that of what is larger: infinity, or NaN where there is none.
template <int fraction_bits, int exponent_bias, std::uint8_t largest, std::uint8_t overflow>
struct ByteFormat {
  static constexpr std::uint8_t kNan = 0x7f;
  static constexpr std::uint8_t kSign = 0x80;

  static std::uint8_t round(double value, bool saturates) {
    if (std::isnan(value)) return kNan;
    const std::uint8_t sign = std::signbit(value) ? kSign : 0;
    const std::uint8_t beyond = saturates ? largest : overflow;
    const double size = std::fabs(value);
    if (std::isinf(size)) return sign | beyond;
    if (size == 0) return sign;
    const int exponent = std::ilogb(size), step = exponent < kLeast ? 0 : exponent - kLeast;
    if (step > 0xff >> fraction_bits) return sign | beyond;
    // How many units of the last place it is; a double holds both parts.
    const double units = std::ldexp(size, fraction_bits - kLeast - step);
    double whole = std::floor(units);
    const double rest = units - whole;
    if (rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) == 1)) ++whole;
    // The leading bit of a normal number adds 1 to the exponent, as does a carry.
    const int code = static_cast<int>(whole) + (step << fraction_bits);
    return static_cast<std::uint8_t>(sign | (code > largest ? beyond : code));
  }

  static float widen(std::uint8_t bits) {
    const int code = bits & 0x7f, exponent = code >> fraction_bits;
    const int fraction = code & ((1 << fraction_bits) - 1);
    float size = NAN;
    if (code <= largest)
      size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), kLeast - fraction_bits)
                           : std::ldexp(static_cast<float>(fraction + (1 << fraction_bits)),
                                        exponent - exponent_bias - fraction_bits);
    else if (code == overflow && overflow != kNan)
      size = INFINITY;
    return (bits & kSign) != 0 ? -size : size;
  }

 private:
  static constexpr int kLeast = 1 - exponent_bias;  // exponent of the least normal number
};

using E4m3 = ByteFormat<3, 7, 0x7e, 0x7f>;
using E5m2 = ByteFormat<2, 15, 0x7b, 0x7c>;

/// A number of a format; larger ones become the largest.
template <class Self, class Format> struct ByteFloat {
  float wide() const { return Format::widen(static_cast<const Self*>(this)->__x); }

  explicit operator float() const { return wide(); }
  explicit operator double() const { return wide(); }
  explicit operator bool() const { return wide() != 0; }
  template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
  explicit operator Integer() const {
    return static_cast<Integer>(wide());
  }

  static std::uint8_t code_of(double value) { return Format::round(value, true); }
};

}  // namespace tenon::hostcuda
