// The functions that commonly follow convolutions, for kernels that take no programs.
#pragma once

#include <cstdint>

namespace tenon::cuda {

struct SimpleEpilogue {
  enum class Function : uint8_t {
    kNone,
    kClip,       // to [low, high]
    kSwish,      // x * sigmoid(x)
    kHardSwish,  // x * clip(x / 6 + 0.5, 0, 1)
    kGelu,       // x * (1 + erf(x / sqrt(2))) / 2
    kGeluTanh,   // its approximation by tanh
  };
  bool adds = false;  // the program's operand, first of all
  Function function = Function::kNone;
  float low = 0, high = 0;
};

#ifdef __CUDACC__
/// Its distance from the function is at most 1.5e-7. (Abramowitz and Stegun, Handbook of
/// Mathematical Functions, 7.1.26.)
__device__ inline float error_function(float x) {
  const float t = __fdividef(1, 1 + 0.3275911f * fabsf(x));
  const float sum = ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t
                     + 0.254829592f)
                    * t;
  return copysignf(1 - sum * __expf(-x * x), x);
}

__device__ inline float activated(const SimpleEpilogue& e, float x) {
  switch (e.function) {
    case SimpleEpilogue::Function::kClip:
      x = x > e.high ? e.high : x;
      return x < e.low ? e.low : x;
    case SimpleEpilogue::Function::kSwish:
      return __fdividef(x, 1 + __expf(-x));
    case SimpleEpilogue::Function::kHardSwish: {
      const float gate = x * (1 / 6.f) + 0.5f;
      return x * (gate < 0 ? 0 : gate > 1 ? 1 : gate);
    }
    case SimpleEpilogue::Function::kGelu:
      return x * (0.5f + 0.5f * error_function(0.70710678f * x));
    case SimpleEpilogue::Function::kGeluTanh: {
      const float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
      return x * (1 - __fdividef(1, 1 + __expf(2 * inner)));
    }
    case SimpleEpilogue::Function::kNone:
      break;
  }
  return x;
}

/// Its distance from tanh is at most 2^-10.9 of it.
__device__ inline float fast_tanh(float x) {
  asm("tanh.approx.f32 %0, %0;" : "+f"(x));
  return x;
}

/// The same, for results that are rounded to 8 bits: sigmoids and GELU by one tanh, whose errors
/// are at most 3e-4 |x| for sigmoids and 3e-4 (1 + |x|) for GELU. That of GELU is (1 + tanh(a x + b
/// x^3)) x / 2 with the a and b for which the largest distance is least, 2.7e-4.
__device__ inline float activated_coarsely(const SimpleEpilogue& e, float x) {
  const float half = 0.5f * x;
  switch (e.function) {
    case SimpleEpilogue::Function::kSwish:
      return half + half * fast_tanh(half);
    case SimpleEpilogue::Function::kGelu:
      return half + half * fast_tanh(x * (0.80015708f + 0.03470089f * x * x));
    case SimpleEpilogue::Function::kGeluTanh:
      return half + half * fast_tanh(x * (0.7978845608f + 0.0356774081f * x * x));
    default:
      return activated(e, x);
  }
}
#endif

}  // namespace tenon::cuda
