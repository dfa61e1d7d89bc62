/// Rows brought to length 1. Semantics: torch.nn.functional.normalize.
#pragma once

#include <cmath>

#include "tenon/plugin/device.h"

namespace tenon::kernels::inline TENON_TARGET {

/// x / max(length of its row, epsilon), in place. Rows have `width` elements.
template <class E> struct L2Row {
  E* x;
  int64_t width;
  float epsilon;

  TENON_DEVICE void operator()(const kit::Team& team, int64_t row) const {
    E* const elements = x + row * width;
    const float squares = team.sum(width, [=](int64_t i) {
      const auto value = static_cast<float>(elements[i]);
      return value * value;
    });
    const float length = sqrtf(squares);
    const float divisor = length > epsilon ? length : epsilon;
    team.each(width, [=](int64_t i) {
      elements[i] = static_cast<E>(static_cast<float>(elements[i]) / divisor);
    });
  }
};

template <class E>
void l2_rows(const kit::Device& device, E* x, int64_t rows, int64_t width, float epsilon = 1e-12f) {
  device.parallel_rows(rows, L2Row<E>{x, width, epsilon});
}

}  // namespace tenon::kernels::inline TENON_TARGET
