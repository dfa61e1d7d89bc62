// Padding as oneDNN wants it: exactly what the windows read.
#pragma once

#include <vector>

#include "ops/support/window.h"

namespace tenon::cpu {

/// The extents behind batch and channel.
inline Shape spatial_of(const Shape& shape) {
  return Shape(std::span(shape.begin() + 2, shape.end()));
}

/// Padding of each axis behind the end, for windows at `small` positions over `large` elements.
inline Shape padding_after(const std::vector<Window>& windows, const Shape& large,
                           const Shape& small) {
  Shape after;
  for (size_t i = 0; i < windows.size(); ++i) {
    const Window& w = windows[i];
    const auto axis = static_cast<int>(i);
    after.push_back(
        std::max<int64_t>((small[axis] - 1) * w.stride + w.reach() - large[axis] - w.pre, 0));
  }
  return after;
}

/// One member of each window.
inline Shape column(const std::vector<Window>& windows, int64_t Window::* member) {
  Shape list;
  for (const Window& w : windows) list.push_back(w.*member);
  return list;
}

}  // namespace tenon::cpu
