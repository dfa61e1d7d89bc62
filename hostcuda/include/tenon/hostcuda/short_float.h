/// 16-bit floats: conversions and arithmetic, each rounded once, to nearest with ties to even.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tenon::hostcuda {

enum class Rounding { kNearest, kZero, kUp, kDown };

/// The layout of a 16-bit float: the bits of its exponent and of its fraction.
template <int exponent_bits> struct ShortFormat {
  static constexpr int kFraction = 15 - exponent_bits;
  static constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
  static constexpr std::uint16_t kInfinity =
      static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << kFraction);
  static constexpr std::uint16_t kNan = 0x7fff;
  static constexpr std::uint16_t kSign = 0x8000;

  /// Rounds a double once.
  static std::uint16_t round(double value, Rounding rounding = Rounding::kNearest) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    const bool is_negative = bits >> 63;
    const std::uint16_t sign = is_negative ? kSign : 0;
    bits &= ~std::uint64_t{0} >> 1;
    if (bits > 0x7ff0000000000000) return kNan;
    if (bits == 0x7ff0000000000000) return sign | kInfinity;
    if (bits == 0) return sign;
    int exponent = static_cast<int>(bits >> 52) - 1023;
    std::uint64_t fraction = bits & 0xfffffffffffff;
    if (exponent == -1023) {  // far below the least
      exponent = -1022;
    } else {
      fraction |= std::uint64_t{1} << 52;
    }
    // How many bits are cut off: more for numbers below the least normal one.
    int cut = 52 - kFraction;
    if (exponent < 1 - kBias) cut += 1 - kBias - exponent;
    if (cut > 62) cut = 62;
    std::uint64_t kept = fraction >> cut;
    const std::uint64_t rest = fraction & ((std::uint64_t{1} << cut) - 1),
                        half = std::uint64_t{1} << (cut - 1);
    const bool goes_up = rounding == Rounding::kNearest
                             ? rest > half || (rest == half && (kept & 1))
                         : rounding == Rounding::kUp   ? rest > 0 && !is_negative
                         : rounding == Rounding::kDown ? rest > 0 && is_negative
                                                       : false;
    kept += goes_up;
    std::uint64_t result =
        kept;  // a subnormal; one that was rounded up to the least normal is right, too
    if (exponent >= 1 - kBias)
      result += static_cast<std::uint64_t>(exponent + kBias - 1) << kFraction;
    if (result >= kInfinity) {
      const bool stays_finite = rounding == Rounding::kZero
                                || (rounding == Rounding::kUp && is_negative)
                                || (rounding == Rounding::kDown && !is_negative);
      result = stays_finite ? kInfinity - 1u : kInfinity;
    }
    return static_cast<std::uint16_t>(sign | result);
  }

  static float widen(std::uint16_t bits) {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & kSign) << 16;
    const std::uint32_t rest = bits & 0x7fff;
    std::uint32_t wide;
    if (rest >= kInfinity) {
      wide = sign | 0x7f800000u | (rest & ((1u << kFraction) - 1)) << (23 - kFraction);
    } else if (rest >> kFraction != 0) {
      wide = sign | ((rest << (23 - kFraction)) + (static_cast<std::uint32_t>(127 - kBias) << 23));
    } else {  // subnormals are so many units
      const float value = std::ldexp(static_cast<float>(rest), 1 - kBias - kFraction);
      std::memcpy(&wide, &value, sizeof(wide));
      wide |= sign;
    }
    float value;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
  }
};

/// a * b + c with the rounding left to the end: an odd last bit stands for what was cut off.
inline double fused(double a, double b, double c) {
  const double product = a * b;  // exact for 16-bit floats
  const double sum = product + c;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (c - part);
  std::uint64_t bits;
  std::memcpy(&bits, &sum, sizeof(bits));
  if (error == 0 || (bits & 1)) return sum;
  return std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
}

/// What a 16-bit float of CUDA is: `Self` derives from it and is as large.
template <class Self, class FormatOfSelf> struct ShortFloat {
  using Format = FormatOfSelf;
  static Self of(double value) { return of_bits(Format::round(value)); }
  static Self of_bits(std::uint16_t bits) {
    Self result;
    std::memcpy(static_cast<void*>(&result), &bits, sizeof(bits));
    return result;
  }
  std::uint16_t bits() const {
    std::uint16_t bits;
    std::memcpy(&bits, this, sizeof(bits));
    return bits;
  }
  float wide() const { return Format::widen(bits()); }
};

template <class T, class = void> struct IsShort : std::false_type {};
template <class T> struct IsShort<T, std::void_t<typename T::Format>> : std::true_type {};
/// A type with two of them.
template <class T, class = void> struct IsPair : std::false_type {};
template <class T> struct IsPair<T, std::void_t<typename T::Half>> : std::true_type {};

template <class T, class R = T> using IfShort = std::enable_if_t<IsShort<T>::value, R>;
template <class T, class R = T> using IfPair = std::enable_if_t<IsPair<T>::value, R>;

}  // namespace tenon::hostcuda

/// Members and operators that __half and __nv_bfloat16 share.
#define TENON_SHORT_FLOAT(type)                                                              \
  unsigned short __x;                                                                        \
  type() = default;                                                                          \
  template <class N, class = std::enable_if_t<std::is_arithmetic<N>::value>> type(N value) { \
    *this = type::of(static_cast<double>(value));                                            \
  }                                                                                          \
  operator float() const {                                                                   \
    return this->wide();                                                                     \
  }                                                                                          \
  template <class N, class = std::enable_if_t<std::is_arithmetic<N>::value>>                 \
  type& operator=(N value) {                                                                 \
    return *this = type::of(static_cast<double>(value));                                     \
  }                                                                                          \
  friend type operator+(type a, type b) {                                                    \
    return type::of(double{a.wide()} + b.wide());                                            \
  }                                                                                          \
  friend type operator-(type a, type b) {                                                    \
    return type::of(double{a.wide()} - b.wide());                                            \
  }                                                                                          \
  friend type operator*(type a, type b) {                                                    \
    return type::of(double{a.wide()} * b.wide());                                            \
  }                                                                                          \
  friend type operator/(type a, type b) {                                                    \
    return type::of(double{a.wide()} / b.wide());                                            \
  }                                                                                          \
  friend type operator+(type a) {                                                            \
    return a;                                                                                \
  }                                                                                          \
  friend type operator-(type a) {                                                            \
    return type::of_bits(a.bits() ^ 0x8000);                                                 \
  }                                                                                          \
  friend type& operator+=(type& a, type b) {                                                 \
    return a = a + b;                                                                        \
  }                                                                                          \
  friend type& operator-=(type& a, type b) {                                                 \
    return a = a - b;                                                                        \
  }                                                                                          \
  friend type& operator*=(type& a, type b) {                                                 \
    return a = a * b;                                                                        \
  }                                                                                          \
  friend type& operator/=(type& a, type b) {                                                 \
    return a = a / b;                                                                        \
  }                                                                                          \
  friend type& operator++(type& a) {                                                         \
    return a = a + type(1);                                                                  \
  }                                                                                          \
  friend type& operator--(type& a) {                                                         \
    return a = a - type(1);                                                                  \
  }                                                                                          \
  friend bool operator==(type a, type b) {                                                   \
    return a.wide() == b.wide();                                                             \
  }                                                                                          \
  friend bool operator!=(type a, type b) {                                                   \
    return a.wide() != b.wide();                                                             \
  }                                                                                          \
  friend bool operator<(type a, type b) {                                                    \
    return a.wide() < b.wide();                                                              \
  }                                                                                          \
  friend bool operator>(type a, type b) {                                                    \
    return a.wide() > b.wide();                                                              \
  }                                                                                          \
  friend bool operator<=(type a, type b) {                                                   \
    return a.wide() <= b.wide();                                                             \
  }                                                                                          \
  friend bool operator>=(type a, type b) {                                                   \
    return a.wide() >= b.wide();                                                             \
  }

/// And their pairs.
#define TENON_SHORT_PAIR(type, half)         \
  using Half = half;                         \
  half x, y;                                 \
  type() = default;                          \
  type(half a, half b) : x(a), y(b) {}       \
  friend type operator+(type a, type b) {    \
    return {a.x + b.x, a.y + b.y};           \
  }                                          \
  friend type operator-(type a, type b) {    \
    return {a.x - b.x, a.y - b.y};           \
  }                                          \
  friend type operator*(type a, type b) {    \
    return {a.x * b.x, a.y * b.y};           \
  }                                          \
  friend type operator/(type a, type b) {    \
    return {a.x / b.x, a.y / b.y};           \
  }                                          \
  friend type operator-(type a) {            \
    return {-a.x, -a.y};                     \
  }                                          \
  friend type& operator+=(type& a, type b) { \
    return a = a + b;                        \
  }                                          \
  friend type& operator-=(type& a, type b) { \
    return a = a - b;                        \
  }                                          \
  friend type& operator*=(type& a, type b) { \
    return a = a * b;                        \
  }                                          \
  friend type& operator/=(type& a, type b) { \
    return a = a / b;                        \
  }                                          \
  friend bool operator==(type a, type b) {   \
    return a.x == b.x && a.y == b.y;         \
  }                                          \
  friend bool operator!=(type a, type b) {   \
    return !(a == b);                        \
  }
