/// __nv_bfloat16 and __nv_bfloat162.
#pragma once
#pragma GCC system_header

#include "host_defines.h"
#include "tenon/hostcuda/short_functions.h"
#include "vector_types.h"

struct __nv_bfloat16_raw {
  unsigned short x;
};
struct __nv_bfloat16 : tenon::hostcuda::ShortFloat<__nv_bfloat16, tenon::hostcuda::ShortFormat<8>> {
  TENON_SHORT_FLOAT(__nv_bfloat16)
  __nv_bfloat16(const __nv_bfloat16_raw& raw) : __x(raw.x) {}
  operator __nv_bfloat16_raw() const { return {__x}; }
};
struct __attribute__((aligned(4))) __nv_bfloat162 {
  TENON_SHORT_PAIR(__nv_bfloat162, __nv_bfloat16)
};
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

TENON_TO_SHORT(__nv_bfloat16, bfloat16)

inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
  return {x, y};
}
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
  return {x, y};
}
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) {
  return {x, x};
}
inline __nv_bfloat162 __float2bfloat162_rn(float x) {
  return {__nv_bfloat16(x), __nv_bfloat16(x)};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__nv_bfloat16(x), __nv_bfloat16(y)};
}
inline __nv_bfloat162 __float22bfloat162_rn(float2 x) {
  return {__nv_bfloat16(x.x), __nv_bfloat16(x.y)};
}
inline float2 __bfloat1622float2(__nv_bfloat162 x) {
  return {x.x.wide(), x.y.wide()};
}
inline float __low2float(__nv_bfloat162 x) {
  return x.x.wide();
}
inline float __high2float(__nv_bfloat162 x) {
  return x.y.wide();
}
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 x) {
  return x.x;
}
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 x) {
  return x.y;
}
