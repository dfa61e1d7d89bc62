// The fast twins of mathematical functions. Tenon's are exact; the errors are those that CUDA
// promises for its own, whose sines and logarithms are exact to 2^-21.4: so many units where they
// are over 1/4.
#include "function.h"

static const std::vector<float> some = {-4.f,  -2.75f,  -1.f,    -0.625f, -1e-3f, 0.f,
                                        1e-6f, 0.0625f, 0.3125f, 0.5f,    0.9f,   1.f,
                                        1.5f,  2.5f,    3.f,     3.875f};
static const std::vector<float> angles = {-2.5f, -2.f, -1.2f, -0.75f, -0.5f, -0.3f, 0.3f, 0.45f,
                                          0.6f,  0.8f, 0.9f,  1.f,    1.1f,  1.25f, 1.9f, 2.8f};
static const std::vector<float> large = {1e-30f, 1e-4f, 0.1f, 0.25f, 2.f,   2.5f, 3.7f,  8.f,
                                         10.f,   33.3f, 50.f, 100.f, 500.f, 1e4f, 1e10f, 1e30f};

FUNCTION(float, fast_exp, 6, some, __expf(x), std::exp(x))
FUNCTION(float, fast_exp10, 12, some, __exp10f(x), std::pow(10.L, x))
FUNCTION(float, fast_log, 3, large, __logf(x), std::log(x))
FUNCTION(float, fast_log2, 2, large, __log2f(x), std::log2(x))
FUNCTION(float, fast_log10, 3, large, __log10f(x), std::log10(x))
FUNCTION(float, fast_pow, 8, angles, __powf(fabsf(x), 1.5f), std::pow(std::fabs(x), 1.5L))
FUNCTION(float, fast_sin, 13, angles, __sinf(x), std::sin(x))
FUNCTION(float, fast_cos, 13, some, 2.f + __cosf(x), 2 + std::cos(x))
FUNCTION(float, fast_tan, 26, angles, __tanf(x), std::tan(x))
__device__ inline float sum_of_both(float x) {
  float sine, cosine;
  __sincosf(x, &sine, &cosine);
  return 4.f + sine + cosine;
}
FUNCTION(float, fast_sincos, 6, some, sum_of_both(x), 4 + std::sin(x) + std::cos(x))
FUNCTION(float, fast_division, 2, some, __fdividef(x, 3.7f), x / static_cast<long double>(3.7f))
FUNCTION(float, fast_division_2, 2, large, fdividef(3.7f, x + 1.f),
         static_cast<long double>(3.7f) / (static_cast<float>(x) + 1.f))
FUNCTION(float, saturated, 0, some, __saturatef(x), std::fmin(std::fmax(x, 0.L), 1.L))
FUNCTION(float, exact_reciprocal, 0, large, __frcp_rn(x), 1 / x)
FUNCTION(float, exact_root, 0, large, __fsqrt_rn(x), std::sqrt(x))
FUNCTION(float, exact_reciprocal_root, 0, large, __frsqrt_rn(x), 1 / std::sqrt(x))
FUNCTION(float, product_and_sum_apart, 0, some, __fadd_rn(__fmul_rn(x, 1.1f), 0.3f),
         static_cast<float>(static_cast<double>(x) * static_cast<double>(1.1f)) + 0.3f)
FUNCTION(float, product_and_sum_together, 0, some, __fmaf_rn(x, 1.1f, 0.3f),
         static_cast<float>(x* static_cast<long double>(1.1f) + static_cast<long double>(0.3f)))
