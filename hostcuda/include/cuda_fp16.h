/// __half and __half2.
#pragma once
#pragma GCC system_header

#include "host_defines.h"
#include "tenon/hostcuda/short_functions.h"
#include "vector_types.h"

struct __half_raw {
  unsigned short x;
};
struct __half2_raw {
  unsigned short x, y;
};
struct __half : tenon::hostcuda::ShortFloat<__half, tenon::hostcuda::ShortFormat<5>> {
  TENON_SHORT_FLOAT(__half)
  __half(const __half_raw& raw) : __x(raw.x) {}
  operator __half_raw() const { return {__x}; }
};
struct __attribute__((aligned(4))) __half2 {
  TENON_SHORT_PAIR(__half2, __half)
  __half2(const __half2_raw& raw) : x(__half_raw{raw.x}), y(__half_raw{raw.y}) {}
};
using half = __half;
using half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;

TENON_TO_SHORT(__half, half)

/// What plugins call of the toolkit's own workings.
inline float __internal_half2float(unsigned short bits) {
  return __half(__half_raw{bits}).wide();
}

inline __half2 make_half2(__half x, __half y) {
  return {x, y};
}
inline __half2 __halves2half2(__half x, __half y) {
  return {x, y};
}
inline __half2 __half2half2(__half x) {
  return {x, x};
}
inline __half2 __float2half2_rn(float x) {
  return {__half(x), __half(x)};
}
inline __half2 __floats2half2_rn(float x, float y) {
  return {__half(x), __half(y)};
}
inline __half2 __float22half2_rn(float2 x) {
  return {__half(x.x), __half(x.y)};
}
inline float2 __half22float2(__half2 x) {
  return {x.x.wide(), x.y.wide()};
}
inline float __low2float(__half2 x) {
  return x.x.wide();
}
inline float __high2float(__half2 x) {
  return x.y.wide();
}
inline __half __low2half(__half2 x) {
  return x.x;
}
inline __half __high2half(__half2 x) {
  return x.y;
}
inline __half2 __low2half2(__half2 x) {
  return {x.x, x.x};
}
inline __half2 __high2half2(__half2 x) {
  return {x.y, x.y};
}
inline __half2 __lows2half2(__half2 x, __half2 y) {
  return {x.x, y.x};
}
inline __half2 __highs2half2(__half2 x, __half2 y) {
  return {x.y, y.y};
}
inline __half2 __lowhigh2highlow(__half2 x) {
  return {x.y, x.x};
}
