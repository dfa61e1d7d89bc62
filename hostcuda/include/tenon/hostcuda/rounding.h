/// Arithmetic and conversions with a given rounding: to nearest, to zero, up and down.
#pragma once
#pragma GCC system_header

#include <cfenv>
#include <cmath>
#include <limits>

namespace tenon::hostcuda {

/// f() in another rounding mode. The values go through memory, so that nothing is computed earlier.
template <int mode, class F> __attribute__((noinline)) auto rounded(F f) {
  const int before = std::fegetround();
  std::fesetround(mode);
  const volatile auto result = f();
  std::fesetround(before);
  return result;
}
template <int mode> double whole(double x) {
  if (mode == FE_TOWARDZERO) return std::trunc(x);
  if (mode == FE_UPWARD) return std::ceil(x);
  if (mode == FE_DOWNWARD) return std::floor(x);
  return std::nearbyint(x);
}
/// Values that the integer type lacks become the nearest that it has. A NaN becomes 0, or what a
/// GPU has for 64 bits.
template <class I, int mode> I to_integer(double x) {
  if (x != x) return sizeof(I) == 8 ? static_cast<I>(1ull << 63) : I{0};
  const double y = whole<mode>(x);
  const double least = static_cast<double>(std::numeric_limits<I>::min());
  const double limit = std::ldexp(1., std::numeric_limits<I>::digits);
  if (y < least) return std::numeric_limits<I>::min();
  return y >= limit ? std::numeric_limits<I>::max() : static_cast<I>(y);
}

}  // namespace tenon::hostcuda

#define TENON_ROUNDED(suffix, mode)                                                \
  inline float __fadd_##suffix(float a, float b) {                                 \
    const volatile float x = a, y = b;                                             \
    return tenon::hostcuda::rounded<mode>([&] { return x + y; });                  \
  }                                                                                \
  inline float __fsub_##suffix(float a, float b) {                                 \
    return __fadd_##suffix(a, -b);                                                 \
  }                                                                                \
  inline float __fmul_##suffix(float a, float b) {                                 \
    const volatile float x = a, y = b;                                             \
    return tenon::hostcuda::rounded<mode>([&] { return x * y; });                  \
  }                                                                                \
  inline float __fdiv_##suffix(float a, float b) {                                 \
    const volatile float x = a, y = b;                                             \
    return tenon::hostcuda::rounded<mode>([&] { return x / y; });                  \
  }                                                                                \
  inline float __frcp_##suffix(float a) {                                          \
    return __fdiv_##suffix(1, a);                                                  \
  }                                                                                \
  inline float __fsqrt_##suffix(float a) {                                         \
    const volatile float x = a;                                                    \
    return tenon::hostcuda::rounded<mode>([&] { return sqrtf(x); });               \
  }                                                                                \
  inline float __fmaf_##suffix(float a, float b, float c) {                        \
    const volatile float x = a, y = b, z = c;                                      \
    return tenon::hostcuda::rounded<mode>([&] { return fmaf(x, y, z); });          \
  }                                                                                \
  inline double __dadd_##suffix(double a, double b) {                              \
    const volatile double x = a, y = b;                                            \
    return tenon::hostcuda::rounded<mode>([&] { return x + y; });                  \
  }                                                                                \
  inline double __dsub_##suffix(double a, double b) {                              \
    return __dadd_##suffix(a, -b);                                                 \
  }                                                                                \
  inline double __dmul_##suffix(double a, double b) {                              \
    const volatile double x = a, y = b;                                            \
    return tenon::hostcuda::rounded<mode>([&] { return x * y; });                  \
  }                                                                                \
  inline double __ddiv_##suffix(double a, double b) {                              \
    const volatile double x = a, y = b;                                            \
    return tenon::hostcuda::rounded<mode>([&] { return x / y; });                  \
  }                                                                                \
  inline double __fma_##suffix(double a, double b, double c) {                     \
    const volatile double x = a, y = b, z = c;                                     \
    return tenon::hostcuda::rounded<mode>([&] { return fma(x, y, z); });           \
  }                                                                                \
  inline float __double2float_##suffix(double a) {                                 \
    const volatile double x = a;                                                   \
    return tenon::hostcuda::rounded<mode>([&] { return static_cast<float>(x); });  \
  }                                                                                \
  inline float __int2float_##suffix(int a) {                                       \
    return __double2float_##suffix(a);                                             \
  }                                                                                \
  inline float __uint2float_##suffix(unsigned a) {                                 \
    return __double2float_##suffix(a);                                             \
  }                                                                                \
  inline float __ll2float_##suffix(long long a) {                                  \
    const volatile long long x = a;                                                \
    return tenon::hostcuda::rounded<mode>([&] { return static_cast<float>(x); });  \
  }                                                                                \
  inline double __ll2double_##suffix(long long a) {                                \
    const volatile long long x = a;                                                \
    return tenon::hostcuda::rounded<mode>([&] { return static_cast<double>(x); }); \
  }

// To nearest is what the machine does anyway. Products are not fused with sums.
inline float __fadd_rn(float a, float b) {
  return a + b;
}
inline float __fsub_rn(float a, float b) {
  return a - b;
}
inline float __fmul_rn(float a, float b) {
  volatile float c = a * b;
  return c;
}
inline float __fdiv_rn(float a, float b) {
  return a / b;
}
inline float __frcp_rn(float a) {
  return 1 / a;
}
inline float __fsqrt_rn(float a) {
  return sqrtf(a);
}
inline float __frsqrt_rn(float a) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(a)));
}
inline float __fmaf_rn(float a, float b, float c) {
  return fmaf(a, b, c);
}
inline double __dadd_rn(double a, double b) {
  return a + b;
}
inline double __dsub_rn(double a, double b) {
  return a - b;
}
inline double __dmul_rn(double a, double b) {
  volatile double c = a * b;
  return c;
}
inline double __ddiv_rn(double a, double b) {
  return a / b;
}
inline double __fma_rn(double a, double b, double c) {
  return fma(a, b, c);
}
inline float __double2float_rn(double a) {
  return static_cast<float>(a);
}
inline float __int2float_rn(int a) {
  return static_cast<float>(a);
}
inline float __uint2float_rn(unsigned a) {
  return static_cast<float>(a);
}
inline float __ll2float_rn(long long a) {
  return static_cast<float>(a);
}
inline double __ll2double_rn(long long a) {
  return static_cast<double>(a);
}
inline double __int2double_rn(int a) {
  return a;
}
inline double __uint2double_rn(unsigned a) {
  return a;
}
TENON_ROUNDED(rz, FE_TOWARDZERO)
TENON_ROUNDED(ru, FE_UPWARD)
TENON_ROUNDED(rd, FE_DOWNWARD)
#undef TENON_ROUNDED

#define TENON_TO_INTEGER(suffix, mode)                               \
  inline int __float2int_##suffix(float x) {                         \
    return tenon::hostcuda::to_integer<int, mode>(x);                \
  }                                                                  \
  inline unsigned __float2uint_##suffix(float x) {                   \
    return tenon::hostcuda::to_integer<unsigned, mode>(x);           \
  }                                                                  \
  inline long long __float2ll_##suffix(float x) {                    \
    return tenon::hostcuda::to_integer<long long, mode>(x);          \
  }                                                                  \
  inline unsigned long long __float2ull_##suffix(float x) {          \
    return tenon::hostcuda::to_integer<unsigned long long, mode>(x); \
  }                                                                  \
  inline int __double2int_##suffix(double x) {                       \
    return tenon::hostcuda::to_integer<int, mode>(x);                \
  }                                                                  \
  inline unsigned __double2uint_##suffix(double x) {                 \
    return tenon::hostcuda::to_integer<unsigned, mode>(x);           \
  }                                                                  \
  inline long long __double2ll_##suffix(double x) {                  \
    return tenon::hostcuda::to_integer<long long, mode>(x);          \
  }
TENON_TO_INTEGER(rn, FE_TONEAREST)
TENON_TO_INTEGER(rz, FE_TOWARDZERO)
TENON_TO_INTEGER(ru, FE_UPWARD)
TENON_TO_INTEGER(rd, FE_DOWNWARD)
#undef TENON_TO_INTEGER
