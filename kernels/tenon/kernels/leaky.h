/// The leaky rectifier. Semantics: torch.nn.LeakyReLU.
#pragma once

#include <tenon/plugin/device.h>

namespace tenon::kernels::inline TENON_TARGET {

/// Without a branch, so that loops over it become vectors. NaNs stay.
TENON_HD inline float leaky(float x, float negative_slope) {
  return (x < 0 ? 0 : x) + (x < 0 ? x : 0) * negative_slope;
}

}  // namespace tenon::kernels::inline TENON_TARGET
