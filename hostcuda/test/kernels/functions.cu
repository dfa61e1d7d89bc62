// Mathematical functions of floats and doubles. The errors are those that CUDA promises.
#include "function.h"

static const std::vector<float> any_sign = {-8.f,  -2.75f,  -1.f,    -0.625f, -1e-3f, 0.f,
                                            1e-6f, 0.0625f, 0.3125f, 0.5f,    0.9f,   1.f,
                                            1.5f,  2.5f,    3.f,     9.875f};
static const std::vector<float> positive = {1e-30f, 1e-4f, 0.1f, 0.5f,  0.7f,  1.f,  1.25f, 2.f,
                                            2.5f,   3.7f,  10.f, 33.3f, 100.f, 1e4f, 1e10f, 1e30f};
static const std::vector<float> within = {-1.f,  -0.99f, -0.75f, -0.5f, -0.25f, -1e-3f,
                                          0.f,   1e-5f,  0.125f, 0.3f,  0.5f,   0.6f,
                                          0.75f, 0.9f,   0.999f, 1.f};

FUNCTION(float, expf, 1, any_sign, expf(x), std::exp(x))
FUNCTION(float, exp2f, 2, any_sign, exp2f(x), std::exp2(x))
FUNCTION(float, exp10f, 2, any_sign, exp10f(x), std::pow(10.L, x))
FUNCTION(float, expm1f, 1, any_sign, expm1f(x), std::expm1(x))
FUNCTION(float, logf, 1, positive, logf(x), std::log(x))
FUNCTION(float, log2f, 1, positive, log2f(x), std::log2(x))
FUNCTION(float, log10f, 2, positive, log10f(x), std::log10(x))
FUNCTION(float, log1pf, 1, positive, log1pf(x), std::log1p(x))
FUNCTION(float, sqrtf, 0, positive, sqrtf(x), std::sqrt(x))
FUNCTION(float, rsqrtf, 2, positive, rsqrtf(x), 1 / std::sqrt(x))
FUNCTION(float, cbrtf, 1, any_sign, cbrtf(x), std::cbrt(x))
FUNCTION(float, rcbrtf, 1, positive, rcbrtf(x), 1 / std::cbrt(x))
FUNCTION(float, hypotf, 3, any_sign, hypotf(x, 3.f), std::hypot(x, 3.L))
FUNCTION(float, rhypotf, 2, any_sign, rhypotf(x, 3.f), 1 / std::hypot(x, 3.L))
FUNCTION(float, norm3df, 3, any_sign, norm3df(x, 1.f, 2.f), std::hypot(x, 1.L, 2.L))
FUNCTION(float, sinf, 2, any_sign, sinf(x), std::sin(x))
FUNCTION(float, cosf, 2, any_sign, cosf(x), std::cos(x))
FUNCTION(float, tanf, 4, any_sign, tanf(x), std::tan(x))
FUNCTION(float, sinpif, 1, within, sinpif(x),
         std::fabs(x) == 1 ? x * 0 : std::sin(3.14159265358979323846264338327950288L * x))
FUNCTION(float, cospif, 1, within, cospif(x),
         std::fabs(x) == 0.5L ? 0 : std::cos(3.14159265358979323846264338327950288L * x))
FUNCTION(float, asinf, 2, within, asinf(x), std::asin(x))
FUNCTION(float, acosf, 2, within, acosf(x), std::acos(x))
FUNCTION(float, atanf, 2, any_sign, atanf(x), std::atan(x))
FUNCTION(float, atan2f, 3, any_sign, atan2f(x, -2.f), std::atan2(x, -2.L))
FUNCTION(float, sinhf, 3, any_sign, sinhf(x), std::sinh(x))
FUNCTION(float, coshf, 2, any_sign, coshf(x), std::cosh(x))
FUNCTION(float, tanhf, 2, any_sign, tanhf(x), std::tanh(x))
FUNCTION(float, asinhf, 3, any_sign, asinhf(x), std::asinh(x))
FUNCTION(float, acoshf, 4, positive, acoshf(x), std::acosh(x))
FUNCTION(float, atanhf, 3, within, atanhf(x), std::atanh(x))
FUNCTION(float, powf, 4, positive, powf(x, 0.75f), std::pow(x, 0.75L))
FUNCTION(float, erff, 2, any_sign, erff(x), std::erf(x))
FUNCTION(float, erfcf, 4, any_sign, erfcf(x), std::erfc(x))
FUNCTION(float, erfcxf, 4, within, erfcxf(x), std::exp(x* x) * std::erfc(x))
FUNCTION(float, normcdff, 5, any_sign, normcdff(x), std::erfc(-x / std::sqrt(2.L)) / 2)
FUNCTION(float, tgammaf, 5, within, tgammaf(x + 2.5f), std::tgamma(static_cast<float>(x) + 2.5f))
FUNCTION(float, lgammaf, 6, positive, lgammaf(x), std::lgamma(x))
FUNCTION(float, fmaf, 0, any_sign, fmaf(x, 1.1f, -x),
         static_cast<float>(static_cast<double>(x) * static_cast<double>(1.1f)
                            - static_cast<double>(x)))
FUNCTION(float, fmodf, 0, any_sign, fmodf(x, 0.7f), std::fmod(x, static_cast<long double>(0.7f)))
FUNCTION(float, remainderf, 0, any_sign, remainderf(x, 0.7f),
         std::remainder(x, static_cast<long double>(0.7f)))
FUNCTION(float, division, 0, any_sign, x / 3.f, x / 3)
FUNCTION(float, least_normal, 0, within, x * 1e-38f,
         static_cast<float>(static_cast<float>(x) * static_cast<double>(1e-38f)))
FUNCTION(float, integers_and_signs, 0, any_sign,
         floorf(x) + 2 * ceilf(x) + 4 * truncf(x) + 8 * rintf(x) + 16 * roundf(x) + 32 * fabsf(x)
             + 64 * nearbyintf(x) + copysignf(128.f, x) + fdimf(x, 1.f) + (signbit(x) ? 0.5f : 0.f),
         std::floor(x) + 2 * std::ceil(x) + 4 * std::trunc(x) + 8 * std::rint(x)
             + 16 * std::round(x) + 32 * std::fabs(x) + 64 * std::nearbyint(x)
             + std::copysign(128.L, x) + std::fdim(x, 1.L) + (std::signbit(x) ? 0.5L : 0))
FUNCTION(float, shifted_exponents, 0, positive, ldexpf(x, 3), std::ldexp(x, 3))
FUNCTION(float, exponents, 0, positive, logbf(x) + 1000.f * static_cast<float>(ilogbf(x)),
         1001 * std::logb(x))

static std::vector<double> doubles(const std::vector<float>& values) {
  std::vector<double> wide;
  for (const float value : values) wide.push_back(static_cast<double>(value) * 1.0000001);
  return wide;
}
static const std::vector<double> all_doubles = doubles(any_sign),
                                 positive_doubles = doubles(positive);

FUNCTION(double, exp, 1, all_doubles, exp(x), std::exp(x))
FUNCTION(double, log, 1, positive_doubles, log(x), std::log(x))
FUNCTION(double, sqrt, 0, positive_doubles, sqrt(x), std::sqrt(x))
FUNCTION(double, rsqrt, 1, positive_doubles, rsqrt(x), 1 / std::sqrt(x))
FUNCTION(double, sin, 2, all_doubles, sin(x), std::sin(x))
FUNCTION(double, tanh, 2, all_doubles, tanh(x), std::tanh(x))
FUNCTION(double, pow, 2, positive_doubles, pow(x, 0.3), std::pow(x, static_cast<long double>(0.3)))
FUNCTION(double, erf, 2, all_doubles, erf(x), std::erf(x))
FUNCTION(double, normcdf, 5, all_doubles, normcdf(x), std::erfc(-x / std::sqrt(2.L)) / 2)
