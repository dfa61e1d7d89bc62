// What becomes of numbers that a kernel stores as bytes.
#pragma once

#ifdef __CUDACC__
#include <cuda_fp8.h>

#include <cstdint>
#endif

namespace tenon::cuda {

/// rounded(x / scale) + zero, within [low, high] before the zero point is added; or x / scale in
/// fp8. 1 / scale is finite.
struct ByteQuantization {
  float scale = 1, low = -128, high = 127;
  int zero = 0;
  bool is_float8 = false;
};

#ifdef __CUDACC__
/// NaN becomes the lowest, and that of fp8.
class Quantized {
 public:
  __device__ explicit Quantized(const ByteQuantization& rule)
      : rule_(rule), reciprocal_(1 / rule.scale) {}
  __device__ uint8_t operator()(float x) const { return rule_.is_float8 ? float8(x) : integer(x); }
  /// Where the rule is of fp8, and where it is not.
  __device__ uint8_t float8(float x) const {
    return __nv_cvt_float_to_fp8(isnan(x) ? x : saturated(x), __NV_SATFINITE, __NV_E4M3);
  }
  __device__ uint8_t integer(float x) const {
    constexpr float kRounds = 12582912;  // added, it leaves whole numbers in the low bits
    const int number = __float_as_int(__fadd_rn(saturated(x), kRounds));
    return static_cast<uint8_t>(number + rule_.zero);
  }

 private:
  __device__ float saturated(float x) const {
    // The product's rounding is made right by what it leaves. One step beyond the bounds stays
    // beyond them, and keeps what is large from becoming NaN.
    const float product = fminf(fmaxf(x * reciprocal_, rule_.low - 1), rule_.high + 1);
    const float quotient = fmaf(fmaf(-product, rule_.scale, x), reciprocal_, product);
    return fminf(fmaxf(quotient, rule_.low), rule_.high);
  }

  const ByteQuantization& rule_;
  float reciprocal_;
};
#endif

}  // namespace tenon::cuda
