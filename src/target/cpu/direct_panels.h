// Weights and layout of our direct convolution and deconvolution.
#pragma once

#include "base/layout.h"
#include "base/tensor.h"
#include "target/cpu/simd/kernels.h"

namespace tenon::cpu {

/// Maps whose weights lie together, and to what they are padded: whole vectors of any machine.
constexpr int64_t kDirectPanel = 32, kDirectPadded = 16;

/// How many units hold so much.
inline int64_t units(int64_t count, int64_t unit) {
  return (count + unit - 1) / unit;
}
inline int64_t padded_maps(int64_t maps) {
  return units(maps, kDirectPadded) * kDirectPadded;
}

/// Where weights lie: floats from a map to the next, and from an element that they are multiplied
/// with to the next.
struct WeightSteps {
  int64_t map, element;
};
/// As the loops read them: panel, element, map. Writes padded_maps(maps) * depth floats.
void write_panels(const float* weights, const WeightSteps& steps, int64_t maps, int64_t depth,
                  float* panels);
/// A bias of so many maps, or zeros where there is none, padded with zeros.
Tensor padded_bias(const Tensor* bias, int64_t maps);

inline const DirectKernels& direct_loops() {
  return simd_kernels().direct;
}
/// In which the loops write.
inline Layout direct_layout() {
  return direct_loops().lanes == 8 ? Layout::kBlocked8 : Layout::kBlocked16;
}

}  // namespace tenon::cpu
