/// Functions of 16-bit floats and of pairs of them, for __half and __nv_bfloat16 alike.
#pragma once

#include <algorithm>

#include "tenon/hostcuda/rounding.h"
#include "tenon/hostcuda/short_float.h"

#define TENON_UNARY(name, expression)                               \
  template <class T> tenon::hostcuda::IfShort<T> h##name(T value) { \
    const double x = value.wide();                                  \
    return T::of(expression);                                       \
  }                                                                 \
  template <class T> tenon::hostcuda::IfPair<T> h2##name(T value) { \
    return {h##name(value.x), h##name(value.y)};                    \
  }
TENON_UNARY(exp, std::exp(x))
TENON_UNARY(exp2, std::exp2(x))
TENON_UNARY(exp10, std::pow(10., x))
TENON_UNARY(log, std::log(x))
TENON_UNARY(log2, std::log2(x))
TENON_UNARY(log10, std::log10(x))
TENON_UNARY(sin, std::sin(x))
TENON_UNARY(cos, std::cos(x))
TENON_UNARY(tanh, std::tanh(x))
TENON_UNARY(sqrt, std::sqrt(x))
TENON_UNARY(rsqrt, 1 / std::sqrt(x))
TENON_UNARY(rcp, 1 / x)
TENON_UNARY(floor, std::floor(x))
TENON_UNARY(ceil, std::ceil(x))
TENON_UNARY(trunc, std::trunc(x))
TENON_UNARY(rint, std::nearbyint(x))
#undef TENON_UNARY

namespace tenon::hostcuda {
// Of a number and a NaN, the number. What is equal has the same bits, but for zeros: -0 is less
// than 0.
template <class T> T larger(T a, T b) {
  if (a == b) return T::of_bits(a.bits() & b.bits());
  return T::of(std::fmax(a.wide(), b.wide()));
}
template <class T> T smaller(T a, T b) {
  if (a == b) return T::of_bits(a.bits() | b.bits());
  return T::of(std::fmin(a.wide(), b.wide()));
}
}  // namespace tenon::hostcuda

// a op b, of single ones and of pairs; the results are 16-bit floats.
#define TENON_BINARY(name, suffix, expression)                                   \
  template <class T> tenon::hostcuda::IfShort<T> __h##name##suffix(T a, T b) {   \
    return expression;                                                           \
  }                                                                              \
  template <class T> tenon::hostcuda::IfPair<T> __h##name##2##suffix(T a, T b) { \
    return {__h##name##suffix(a.x, b.x), __h##name##suffix(a.y, b.y)};           \
  }
#define TENON_SATURATED(value) \
  T::of(std::fmin(std::fmax(static_cast<double>((value).wide()), 0.), 1.))
TENON_BINARY(add, , a + b)
TENON_BINARY(sub, , a - b)
TENON_BINARY(mul, , a* b)
TENON_BINARY(add, _rn, a + b)
TENON_BINARY(sub, _rn, a - b)
TENON_BINARY(mul, _rn, a* b)
template <class T> tenon::hostcuda::IfShort<T> __hdiv(T a, T b) {
  return a / b;
}
template <class T> tenon::hostcuda::IfPair<T> __h2div(T a, T b) {
  return a / b;
}
TENON_BINARY(add, _sat, TENON_SATURATED(a + b))
TENON_BINARY(sub, _sat, TENON_SATURATED(a - b))
TENON_BINARY(mul, _sat, TENON_SATURATED(a* b))
TENON_BINARY(max, , tenon::hostcuda::larger(a, b))
TENON_BINARY(min, , tenon::hostcuda::smaller(a, b))
TENON_BINARY(max, _nan, (a != a || b != b) ? T::of(NAN) : tenon::hostcuda::larger(a, b))
TENON_BINARY(min, _nan, (a != a || b != b) ? T::of(NAN) : tenon::hostcuda::smaller(a, b))
#undef TENON_BINARY

template <class T> tenon::hostcuda::IfShort<T> __hfma(T a, T b, T c) {
  return T::of(tenon::hostcuda::fused(a.wide(), b.wide(), c.wide()));
}
template <class T> tenon::hostcuda::IfPair<T> __hfma2(T a, T b, T c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
template <class T> tenon::hostcuda::IfShort<T> __hfma_relu(T a, T b, T c) {
  const T result = __hfma(a, b, c);
  return result < T(0) ? T(0) : result;
}
template <class T> tenon::hostcuda::IfPair<T> __hfma2_relu(T a, T b, T c) {
  return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)};
}
template <class T> tenon::hostcuda::IfShort<T> __hfma_sat(T a, T b, T c) {
  return TENON_SATURATED(__hfma(a, b, c));
}
template <class T> tenon::hostcuda::IfPair<T> __hfma2_sat(T a, T b, T c) {
  return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)};
}
template <class T> tenon::hostcuda::IfShort<T> __hneg(T a) {
  return -a;
}
template <class T> tenon::hostcuda::IfPair<T> __hneg2(T a) {
  return -a;
}
template <class T> tenon::hostcuda::IfShort<T> __habs(T a) {
  return T::of_bits(a.bits() & 0x7fff);
}
template <class T> tenon::hostcuda::IfPair<T> __habs2(T a) {
  return {__habs(a.x), __habs(a.y)};
}
template <class T> tenon::hostcuda::IfShort<T, bool> __hisnan(T a) {
  return a != a;
}
template <class T> tenon::hostcuda::IfShort<T, int> __hisinf(T a) {
  return (a.bits() & 0x7fff) != T::Format::kInfinity ? 0 : a.bits() & 0x8000 ? -1 : 1;
}
template <class T> tenon::hostcuda::IfPair<T> __hisnan2(T a) {
  return {T(a.x != a.x), T(a.y != a.y)};
}

// Comparisons: of pairs, each for itself as 1 and 0, and b for both. With u, NaNs compare as true.
#define TENON_COMPARISON(name, op)                                              \
  template <class T> tenon::hostcuda::IfShort<T, bool> __h##name(T a, T b) {    \
    return a op b && a == a && b == b;                                          \
  }                                                                             \
  template <class T> tenon::hostcuda::IfShort<T, bool> __h##name##u(T a, T b) { \
    return a op b || a != a || b != b;                                          \
  }                                                                             \
  template <class T> tenon::hostcuda::IfPair<T> __h##name##2(T a, T b) {        \
    using Half = typename T::Half;                                              \
    return {Half(__h##name(a.x, b.x)), Half(__h##name(a.y, b.y))};              \
  }                                                                             \
  template <class T> tenon::hostcuda::IfPair<T, bool> __hb##name##2(T a, T b) { \
    return __h##name(a.x, b.x) && __h##name(a.y, b.y);                          \
  }
TENON_COMPARISON(eq, ==)
TENON_COMPARISON(ne, !=)
TENON_COMPARISON(lt, <)
TENON_COMPARISON(gt, >)
TENON_COMPARISON(le, <=)
TENON_COMPARISON(ge, >=)
#undef TENON_COMPARISON

/// Conversions from and to integers and floats, by their names in CUDA: `suffix` half or bfloat16.
#define TENON_TO_SHORT(type, suffix)                                \
  inline type __float2##suffix(float x) {                           \
    return type::of(x);                                             \
  }                                                                 \
  inline type __float2##suffix##_rn(float x) {                      \
    return type::of(x);                                             \
  }                                                                 \
  inline type __double2##suffix(double x) {                         \
    return type::of(x);                                             \
  }                                                                 \
  inline float __##suffix##2float(type x) {                         \
    return x.wide();                                                \
  }                                                                 \
  TENON_TO_SHORT_ROUNDED(type, suffix, rz, kZero, FE_TOWARDZERO)    \
  TENON_TO_SHORT_ROUNDED(type, suffix, ru, kUp, FE_UPWARD)          \
  TENON_TO_SHORT_ROUNDED(type, suffix, rd, kDown, FE_DOWNWARD)      \
  TENON_SHORT_OF_INTEGERS(type, suffix, rn, kNearest, FE_TONEAREST) \
  inline unsigned short __##suffix##_as_ushort(type x) {            \
    return x.bits();                                                \
  }                                                                 \
  inline short __##suffix##_as_short(type x) {                      \
    return static_cast<short>(x.bits());                            \
  }                                                                 \
  inline type __ushort_as_##suffix(unsigned short x) {              \
    return type::of_bits(x);                                        \
  }                                                                 \
  inline type __short_as_##suffix(short x) {                        \
    return type::of_bits(static_cast<unsigned short>(x));           \
  }
#define TENON_TO_SHORT_ROUNDED(type, suffix, name, rounding, mode)                     \
  inline type __float2##suffix##_##name(float x) {                                     \
    return type::of_bits(type::Format::round(x, tenon::hostcuda::Rounding::rounding)); \
  }                                                                                    \
  TENON_SHORT_OF_INTEGERS(type, suffix, name, rounding, mode)
#define TENON_SHORT_OF_INTEGERS(type, suffix, name, rounding, mode)                        \
  inline type __int2##suffix##_##name(int x) {                                             \
    return type::of_bits(type::Format::round(x, tenon::hostcuda::Rounding::rounding));     \
  }                                                                                        \
  inline type __uint2##suffix##_##name(unsigned x) {                                       \
    return type::of_bits(type::Format::round(x, tenon::hostcuda::Rounding::rounding));     \
  }                                                                                        \
  inline type __short2##suffix##_##name(short x) {                                         \
    return __int2##suffix##_##name(x);                                                     \
  }                                                                                        \
  inline type __ushort2##suffix##_##name(unsigned short x) {                               \
    return __int2##suffix##_##name(x);                                                     \
  }                                                                                        \
  inline type __ll2##suffix##_##name(long long x) {                                        \
    return type::of_bits(                                                                  \
        type::Format::round(static_cast<double>(x), tenon::hostcuda::Rounding::rounding)); \
  }                                                                                        \
  inline int __##suffix##2int_##name(type x) {                                             \
    return tenon::hostcuda::to_integer<int, mode>(x.wide());                               \
  }                                                                                        \
  inline unsigned __##suffix##2uint_##name(type x) {                                       \
    return tenon::hostcuda::to_integer<unsigned, mode>(x.wide());                          \
  }                                                                                        \
  inline short __##suffix##2short_##name(type x) {                                         \
    return tenon::hostcuda::to_integer<short, mode>(x.wide());                             \
  }                                                                                        \
  inline unsigned short __##suffix##2ushort_##name(type x) {                               \
    return tenon::hostcuda::to_integer<unsigned short, mode>(x.wide());                    \
  }                                                                                        \
  inline long long __##suffix##2ll_##name(type x) {                                        \
    return tenon::hostcuda::to_integer<long long, mode>(x.wide());                         \
  }
