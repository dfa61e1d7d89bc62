#include "target/cpu/direct_panels.h"

#include <algorithm>

namespace tenon::cpu {

void write_panels(const float* weights, const WeightSteps& steps, int64_t maps, int64_t depth,
                  float* panels) {
  for (int64_t first = 0; first < maps; first += kDirectPanel) {
    const int64_t width = std::min(kDirectPanel, padded_maps(maps) - first);
    const int64_t used = std::min(width, maps - first);
    for (int64_t k = 0; k < depth; ++k, panels += width) {
      for (int64_t map = 0; map < used; ++map)
        panels[map] = weights[(first + map) * steps.map + k * steps.element];
      std::fill(panels + used, panels + width, 0.f);
    }
  }
}

Tensor padded_bias(const Tensor* bias, int64_t maps) {
  Tensor out(DataType::kFLOAT, {padded_maps(maps)});
  auto* const to = out.mutable_data<float>();
  std::fill_n(to, out.count(), 0.f);
  if (bias != nullptr) std::copy_n(bias->data<float>(), maps, to);
  return out;
}

}  // namespace tenon::cpu
