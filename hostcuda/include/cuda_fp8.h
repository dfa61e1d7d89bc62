/// __nv_fp8_e4m3 and __nv_fp8_e5m2, alone, in pairs and in fours.
#pragma once
#pragma GCC system_header

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "tenon/hostcuda/byte_float.h"
#include "vector_types.h"

using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned int;

enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

#define TENON_BYTE_FLOAT(Type, Format)                                      \
  struct Type : tenon::hostcuda::ByteFloat<Type, tenon::hostcuda::Format> { \
    __nv_fp8_storage_t __x;                                                 \
    Type() = default;                                                       \
    explicit Type(float value) : __x(code_of(value)) {}                     \
    explicit Type(double value) : __x(code_of(value)) {}                    \
    explicit Type(__half value) : __x(code_of(value.wide())) {}             \
    explicit Type(__nv_bfloat16 value) : __x(code_of(value.wide())) {}      \
    template <class I, std::enable_if_t<std::is_integral_v<I>, int> = 0>    \
    explicit Type(I value) : __x(code_of(static_cast<double>(value))) {}    \
    explicit operator __half() const {                                      \
      return __half(wide());                                                \
    }                                                                       \
    explicit operator __nv_bfloat16() const {                               \
      return __nv_bfloat16(wide());                                         \
    }                                                                       \
  };
TENON_BYTE_FLOAT(__nv_fp8_e4m3, E4m3)
TENON_BYTE_FLOAT(__nv_fp8_e5m2, E5m2)
#undef TENON_BYTE_FLOAT

#define TENON_BYTE_FLOATS(Pair, Four, Format)                                               \
  struct Pair {                                                                             \
    __nv_fp8x2_storage_t __x;                                                               \
    Pair() = default;                                                                       \
    explicit Pair(float2 v)                                                                 \
        : __x(static_cast<__nv_fp8x2_storage_t>(tenon::hostcuda::Format::round(v.x, true)   \
                                                | tenon::hostcuda::Format::round(v.y, true) \
                                                      << 8)) {}                             \
    explicit operator float2() const {                                                      \
      return {tenon::hostcuda::Format::widen(static_cast<unsigned char>(__x)),              \
              tenon::hostcuda::Format::widen(static_cast<unsigned char>(__x >> 8))};        \
    }                                                                                       \
  };                                                                                        \
  struct Four {                                                                             \
    __nv_fp8x4_storage_t __x;                                                               \
    Four() = default;                                                                       \
    explicit Four(float4 v)                                                                 \
        : __x(Pair(float2{v.x, v.y}).__x                                                    \
              | static_cast<__nv_fp8x4_storage_t>(Pair(float2{v.z, v.w}).__x) << 16) {}     \
    explicit operator float4() const {                                                      \
      Pair low, high;                                                                       \
      low.__x = static_cast<__nv_fp8x2_storage_t>(__x);                                     \
      high.__x = static_cast<__nv_fp8x2_storage_t>(__x >> 16);                              \
      const float2 xy(low), zw(high);                                                       \
      return {xy.x, xy.y, zw.x, zw.y};                                                      \
    }                                                                                       \
  };
TENON_BYTE_FLOATS(__nv_fp8x2_e4m3, __nv_fp8x4_e4m3, E4m3)
TENON_BYTE_FLOATS(__nv_fp8x2_e5m2, __nv_fp8x4_e5m2, E5m2)
#undef TENON_BYTE_FLOATS

inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturation,
                                                 __nv_fp8_interpretation_t kind) {
  const bool saturates = saturation == __NV_SATFINITE;
  return kind == __NV_E4M3 ? tenon::hostcuda::E4m3::round(x, saturates)
                           : tenon::hostcuda::E5m2::round(x, saturates);
}
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturation,
                                                __nv_fp8_interpretation_t kind) {
  return __nv_cvt_double_to_fp8(x, saturation, kind);
}
inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturation,
                                                  __nv_fp8_interpretation_t kind) {
  return __nv_cvt_double_to_fp8(__half(x).wide(), saturation, kind);
}
inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x,
                                                      __nv_saturation_t saturation,
                                                      __nv_fp8_interpretation_t kind) {
  return __nv_cvt_double_to_fp8(__nv_bfloat16(x).wide(), saturation, kind);
}
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  return __half(kind == __NV_E4M3 ? tenon::hostcuda::E4m3::widen(x)
                                  : tenon::hostcuda::E5m2::widen(x));
}
