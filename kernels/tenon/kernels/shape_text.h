/// Shapes in messages.
#pragma once

#include <tenon/plugin/device.h>

#include <string>

namespace tenon::kernels {

/// "(2, 3, 4)"
inline std::string text_of(const kit::Shape& shape) {
  std::string text = "(";
  for (int i = 0; i < shape.rank(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + ")";
}

}  // namespace tenon::kernels
