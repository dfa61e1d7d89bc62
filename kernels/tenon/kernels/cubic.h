/// Cubic interpolation, as PyTorch and TensorRT have it (A = -0.75).
#pragma once

#include "tenon/plugin/spec.h"

namespace tenon::kernels::inline TENON_TARGET {

/// Weights of the four elements around a position that is `t` behind the second.
TENON_HD inline void cubic_weights(float t, float* weight) {
  constexpr float kA = -0.75f;
  const auto near = [](float d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
  const auto far = [](float d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
  weight[0] = far(t + 1);
  weight[1] = near(t);
  weight[2] = near(1 - t);
  weight[3] = far(2 - t);
}

}  // namespace tenon::kernels::inline TENON_TARGET
