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
  __device__ uint8_t operator()(float x) const {
    // The product's rounding is made right by what it leaves. One step beyond the bounds stays
    // beyond them, and keeps what is large from becoming NaN.
    const float product = fminf(fmaxf(x * reciprocal_, rule_.low - 1), rule_.high + 1);
    const float quotient = fmaf(fmaf(-product, rule_.scale, x), reciprocal_, product);
    const float saturated = fminf(fmaxf(quotient, rule_.low), rule_.high);
    if (rule_.is_float8)
      return __nv_cvt_float_to_fp8(isnan(x) ? x : saturated, __NV_SATFINITE, __NV_E4M3);
    return static_cast<uint8_t>(static_cast<int>(rintf(saturated)) + rule_.zero);
  }

 private:
  const ByteQuantization& rule_;
  float reciprocal_;
};
#endif

}  // namespace tenon::cuda
