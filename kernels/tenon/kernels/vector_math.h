/// Elementary functions that compilers vectorise: no calls, no branches, no tables.
/// Everything is static, and nothing of the standard library is used, because each instruction set
/// compiles its own copy. Errors are against the exact value, over all floats unless said
/// otherwise.
#pragma once

#include <cstdint>

namespace tenon::kernels {
namespace {

inline int32_t bits_of(float x) {
  return __builtin_bit_cast(int32_t, x);
}
inline float float_of(int32_t bits) {
  return __builtin_bit_cast(float, bits);
}
inline float absolute(float x) {
  return float_of(bits_of(x) & 0x7fffffff);
}
inline float with_sign_of(float magnitude, float sign) {
  return float_of((bits_of(magnitude) & 0x7fffffff) | (bits_of(sign) & INT32_MIN));
}
/// 2^n for -126 <= n <= 128, of which the last is infinity.
inline float power_of_two(int32_t n) {
  return float_of((n + 127) << 23);
}

struct Reduced {
  float remainder;  // in [-ln 2 / 2, ln 2 / 2]
  int32_t exponent;
};
/// x = exponent * ln 2 + remainder, for |x| < 1000.
inline Reduced reduce(float x) {
  constexpr float kLog2e = 1.44269504f, kLn2High = 0.693145752f, kLn2Low = 1.42860677e-6f;
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: the sum's last bits are the nearest integer
  const float shifted = x * kLog2e + kShift;
  const float n = shifted - kShift;
  return {(x - n * kLn2High) - n * kLn2Low, bits_of(shifted) - bits_of(kShift)};
}

/// e^r - 1 for a remainder: Taylor's series, whose first term left out is below 3e-9 of the sum.
inline float series_expm1(float r) {
  float p = 1.f / 5040;
  p = p * r + 1.f / 720;
  p = p * r + 1.f / 120;
  p = p * r + 1.f / 24;
  p = p * r + 1.f / 6;
  p = p * r + 0.5f;
  return (p * r) * r + r;
}

/// e^x of what was reduced, where that is a normal number.
inline float exponential_of(const Reduced& r) {
  return (1.f + series_expm1(r.remainder)) * power_of_two(r.exponent);
}

/// Error below 2 ulp.
inline float fast_exp(float x) {
  float y = x > 89.f ? 89.f : x;
  y = y < -104.f ? -104.f : y;
  const Reduced r = reduce(y);
  const int32_t half = r.exponent >> 1;
  const float e =
      (1.f + series_expm1(r.remainder)) * power_of_two(half) * power_of_two(r.exponent - half);
  return x == x ? e : x;
}

/// e^x - 1 for x <= 80. Error below 3 ulp.
inline float fast_expm1(float x) {
  const float y = x < -30.f ? -30.f : x;
  const Reduced r = reduce(y);
  const float scale = power_of_two(r.exponent);
  const float e = scale * series_expm1(r.remainder) + (scale - 1.f);
  return x == x ? e : x;
}

/// e^-x where it matters beside 1, in fewer steps than fast_exp() takes: infinite from -x = 88.4
/// on.
inline float decay(float x) {
  float y = x > 87.f ? 87.f : x;
  y = y < -89.f ? -89.f : y;
  return exponential_of(reduce(-y));
}

/// e^x for x <= 0, in fewer steps than fast_exp() takes. Error below 2 ulp; 0 below -87.
inline float fast_share(float x) {
  const float e = exponential_of(reduce(x < -87.f ? -87.f : x));
  return x < -87.f ? 0.f : e;
}

/// Error below 3 ulp; a subnormal result may be 0.
inline float fast_sigmoid(float x) {
  return 1.f / (1.f + decay(x));
}

/// x * sigmoid(x). Error below 3 ulp; below -88.3, where that is less than 4e-37, it is 0.
inline float fast_silu(float x) {
  return x / (1.f + decay(x));
}

/// Error below 4 ulp.
inline float fast_tanh(float x) {
  float y = absolute(x);
  y = y > 10.f ? 10.f : y;
  const float e = fast_expm1(y + y);
  const float t = with_sign_of(e / (e + 2.f), x);
  return x == x ? t : x;
}

/// log(1 + y) for 0 <= y <= 1: 2 artanh(y / (2 + y)) by its series. Error below 3 ulp.
inline float fast_log1p_unit(float y) {
  const float s = y / (2.f + y), q = s * s;
  float p = 1.f / 15;
  p = p * q + 1.f / 13;
  p = p * q + 1.f / 11;
  p = p * q + 1.f / 9;
  p = p * q + 1.f / 7;
  p = p * q + 1.f / 5;
  p = p * q + 1.f / 3;
  return 2.f * (s + s * q * p);
}

/// Error below 3 ulp: x = m 2^e with m in [sqrt(1/2), sqrt(2)), and 2 artanh((m - 1) / (m + 1)).
inline float fast_log(float x) {
  constexpr int32_t kSqrtHalfBits = 0x3f3504f3;
  constexpr float kSmallest = 1.17549435e-38f, kLn2High = 0.693145752f, kLn2Low = 1.42860677e-6f;
  const bool is_small = x < kSmallest;
  // Unsigned: the bits of a negative x, whose logarithm is NaN, may wrap around.
  const auto bits = static_cast<int32_t>(
      static_cast<uint32_t>(bits_of(is_small ? x * 8388608.f : x)) - uint32_t{kSqrtHalfBits});
  const float e = static_cast<float>((bits >> 23) - (is_small ? 23 : 0));
  const float m = float_of((bits & 0x7fffff) + kSqrtHalfBits);
  const float s = (m - 1.f) / (m + 1.f), q = s * s;
  float p = 1.f / 9;
  p = p * q + 1.f / 7;
  p = p * q + 1.f / 5;
  p = p * q + 1.f / 3;
  const float l = e * kLn2High + (2.f * (s + s * q * p) + e * kLn2Low);
  const float y = x > 0 ? l : x == 0 ? -__builtin_inff() : __builtin_nanf("");
  return x > 3.40282347e38f ? x : y;
}

/// erf(x) / x = kErfMiddle + erf_rest(x) where |x| < 4: a polynomial in x^2 / 8 - 1, fitted with
/// one rounded number after the other.
constexpr float kErfMiddle = 0.353531003f, kErfIsOne = 4.f;
inline float erf_rest(float x) {
  const float t = x * (x * 0.125f) - 1.f;
  float s = 0.000402003701f;
  s = s * t - 0.00124043901f;
  s = s * t + 0.00132040377f;
  s = s * t - 0.0015422228f;
  s = s * t + 0.0045589786f;
  s = s * t - 0.00943458639f;
  s = s * t + 0.0146571789f;
  s = s * t - 0.0221245941f;
  s = s * t + 0.0329238176f;
  s = s * t - 0.0458397157f;
  s = s * t + 0.0599135123f;
  s = s * t - 0.0747212097f;
  s = s * t + 0.0902076289f;
  s = s * t - 0.10771051f;
  s = s * t + 0.13167499f;
  s = s * t - 0.176576242f;
  return s * t;
}

/// Error below 2e-7.
inline float fast_erf(float x) {
  const float e = absolute(x) < kErfIsOne ? x * (kErfMiddle + erf_rest(x)) : with_sign_of(1.f, x);
  return x == x ? e : x;
}

/// 1 + erf(x), error below 1.5e-7, and half of it where erf(x) is near -1.
inline float fast_one_plus_erf(float x) {
  const float sum = x * erf_rest(x) + (x * kErfMiddle + 1.f);
  const float e = absolute(x) < kErfIsOne ? sum : x > 0 ? 2.f : 0.f;
  return x == x ? e : x;
}

}  // namespace
}  // namespace tenon::kernels
