/// Elementary functions of one float on both targets: on the CPU those that vectorise, to a few
/// ULP.
#pragma once

#include <cmath>

#include "tenon/plugin/elements.h"
#if !defined(__CUDACC__)
#include "tenon/kernels/vector_math.h"
#endif

namespace tenon::kernels::inline TENON_TARGET {

/// e^x.
TENON_HD inline float exponential(float x) {
#if defined(__CUDACC__)
  return expf(x);
#else
  return fast_exp(x);
#endif
}

/// e^x for x <= 0, as softmax takes it of what lies below the largest.
TENON_HD inline float share(float x) {
#if defined(__CUDACC__)
  return expf(x);
#else
  return fast_share(x);
#endif
}

/// log(1 + y) for 0 <= y <= 1.
TENON_HD inline float log_one_plus(float y) {
#if defined(__CUDACC__)
  return log1pf(y);
#else
  return fast_log1p_unit(y);
#endif
}

/// 1 / (1 + e^-x).
TENON_HD inline float sigmoid(float x) {
#if defined(__CUDACC__)
  return 1 / (1 + expf(-x));
#else
  return fast_sigmoid(x);
#endif
}

/// x * sigmoid(x): torch.nn.functional.silu.
TENON_HD inline float silu(float x) {
#if defined(__CUDACC__)
  return x / (1 + expf(-x));
#else
  return fast_silu(x);
#endif
}

/// torch.nn.functional.gelu.
TENON_HD inline float gelu(float x) {
  constexpr float kRootHalf = 0.70710678f;
#if defined(__CUDACC__)
  return x * 0.5f * (1 + erff(x * kRootHalf));
#else
  return x * 0.5f * fast_one_plus_erf(x * kRootHalf);
#endif
}

/// torch.nn.functional.gelu with approximate = "tanh".
TENON_HD inline float gelu_by_tanh(float x) {
  constexpr float kRoot = 0.7978845608028654f;  // of 2 / pi
  const float inner = kRoot * (x + 0.044715f * x * x * x);
#if defined(__CUDACC__)
  return 0.5f * x * (1 + tanhf(inner));
#else
  return 0.5f * x * (1 + fast_tanh(inner));
#endif
}

}  // namespace tenon::kernels::inline TENON_TARGET
