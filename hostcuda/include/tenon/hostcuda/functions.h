/// Mathematical functions, loads and stores, and clocks.
#pragma once
#pragma GCC system_header

#include <chrono>
#include <cmath>

#include "tenon/hostcuda/wait.h"

// Those of the host's library also write a global variable, the sign: a race of threads.
extern "C" float lgammaf(float) noexcept __asm__("tenon_hostcuda_lgammaf");
extern "C" double lgamma(double) noexcept __asm__("tenon_hostcuda_lgamma");

#define TENON_EXTREMA(type, a_type, b_type)                        \
  inline type max(a_type a, b_type b) {                            \
    const type x = static_cast<type>(a), y = static_cast<type>(b); \
    return x > y ? x : y;                                          \
  }                                                                \
  inline type min(a_type a, b_type b) {                            \
    const type x = static_cast<type>(a), y = static_cast<type>(b); \
    return x < y ? x : y;                                          \
  }
TENON_EXTREMA(int, int, int)
TENON_EXTREMA(unsigned, unsigned, unsigned)
TENON_EXTREMA(unsigned, int, unsigned)
TENON_EXTREMA(unsigned, unsigned, int)
TENON_EXTREMA(long, long, long)
TENON_EXTREMA(unsigned long, unsigned long, unsigned long)
TENON_EXTREMA(unsigned long, long, unsigned long)
TENON_EXTREMA(unsigned long, unsigned long, long)
TENON_EXTREMA(long long, long long, long long)
TENON_EXTREMA(unsigned long long, unsigned long long, unsigned long long)
TENON_EXTREMA(unsigned long long, long long, unsigned long long)
TENON_EXTREMA(unsigned long long, unsigned long long, long long)
#undef TENON_EXTREMA
// Of a number and a NaN, the number.
inline float max(float a, float b) {
  return fmaxf(a, b);
}
inline float min(float a, float b) {
  return fminf(a, b);
}
inline double max(double a, double b) {
  return fmax(a, b);
}
inline double min(double a, double b) {
  return fmin(a, b);
}
inline double max(float a, double b) {
  return fmax(a, b);
}
inline double min(float a, double b) {
  return fmin(a, b);
}
inline double max(double a, float b) {
  return fmax(a, b);
}
inline double min(double a, float b) {
  return fmin(a, b);
}
inline unsigned umax(unsigned a, unsigned b) {
  return a > b ? a : b;
}
inline unsigned umin(unsigned a, unsigned b) {
  return a < b ? a : b;
}

inline float rsqrtf(float x) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(x)));
}
inline double rsqrt(double x) {
  return 1 / std::sqrt(x);
}
inline float rsqrt(float x) {
  return rsqrtf(x);
}
inline float rcbrtf(float x) {
  return static_cast<float>(1 / std::cbrt(static_cast<double>(x)));
}
inline double rcbrt(double x) {
  return 1 / std::cbrt(x);
}
inline float rhypotf(float x, float y) {
  return static_cast<float>(1 / std::hypot(static_cast<double>(x), static_cast<double>(y)));
}
inline float norm3df(float x, float y, float z) {
  return std::hypot(x, y, z);
}
inline float rnorm3df(float x, float y, float z) {
  return 1 / std::hypot(x, y, z);
}
namespace tenon::hostcuda {
/// The sine of `x` half turns and `quarters` of a turn: exact where it is 0 or 1.
inline double sine_of_half_turns(double x, int quarters) {
  if (!std::isfinite(x)) return NAN;
  const double turn = std::fmod(x, 2.), nearest = std::nearbyint(2 * turn);
  const double rest = M_PI * (turn - nearest / 2);
  const int quarter = (static_cast<int>(nearest) + quarters) & 3;
  const double value = quarter & 1 ? std::cos(rest) : std::sin(rest);
  return quarter & 2 ? -value : value;
}
}  // namespace tenon::hostcuda
inline double sinpi(double x) {
  return tenon::hostcuda::sine_of_half_turns(x, 0);
}
inline double cospi(double x) {
  return tenon::hostcuda::sine_of_half_turns(x, 1);
}
inline float sinpif(float x) {
  return static_cast<float>(sinpi(static_cast<double>(x)));
}
inline float cospif(float x) {
  return static_cast<float>(cospi(static_cast<double>(x)));
}
inline void sincospif(float x, float* sine, float* cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}
// Far out, an error in erfc's argument grows by the argument's square.
inline double normcdf(double x) {
  return static_cast<double>(std::erfc(static_cast<long double>(-x) / std::sqrt(2.L)) / 2);
}
inline float normcdff(float x) {
  return static_cast<float>(normcdf(static_cast<double>(x)));
}
inline double erfcx(double x) {
  return std::exp(x * x) * std::erfc(x);
}
inline float erfcxf(float x) {
  return static_cast<float>(erfcx(static_cast<double>(x)));
}

// Fast functions are as exact as the others here.
inline float __expf(float x) {
  return expf(x);
}
inline float __exp10f(float x) {
  return static_cast<float>(std::pow(10., static_cast<double>(x)));
}
inline float __logf(float x) {
  return logf(x);
}
inline float __log2f(float x) {
  return log2f(x);
}
inline float __log10f(float x) {
  return log10f(x);
}
inline float __powf(float x, float y) {
  return powf(x, y);
}
inline float __sinf(float x) {
  return sinf(x);
}
inline float __cosf(float x) {
  return cosf(x);
}
inline float __tanf(float x) {
  return tanf(x);
}
inline float __tanhf(float x) {
  return tanhf(x);
}
inline void __sincosf(float x, float* sine, float* cosine) {
  *sine = sinf(x);
  *cosine = cosf(x);
}
inline float __fdividef(float x, float y) {
  return x / y;
}
inline float fdividef(float x, float y) {
  return x / y;
}
inline double fdivide(double x, double y) {
  return x / y;
}
inline float __saturatef(float x) {
  return x > 0 ? x < 1 ? x : 1.f : 0.f;
}
inline float saturate(float x) {
  return __saturatef(x);
}

// Loads and stores with hints for caches.
template <class T> T __ldg(const T* place) {
  return *place;
}
template <class T> T __ldca(const T* place) {
  return *place;
}
template <class T> T __ldcg(const T* place) {
  return *place;
}
template <class T> T __ldcs(const T* place) {
  return *place;
}
template <class T> T __ldcv(const T* place) {
  return *place;
}
template <class T> T __ldlu(const T* place) {
  return *place;
}
template <class T> void __stwb(T* place, T value) {
  *place = value;
}
template <class T> void __stcg(T* place, T value) {
  *place = value;
}
template <class T> void __stcs(T* place, T value) {
  *place = value;
}
template <class T> void __stwt(T* place, T value) {
  *place = value;
}

inline long long clock64() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}
inline void __nanosleep(unsigned) {}
inline void __brkpt() {}
inline void __prof_trigger(int) {}
[[noreturn]] inline void __trap(tenon::hostcuda::Site site = tenon::hostcuda::here()) {
  tenon::hostcuda::trap(site);
}
