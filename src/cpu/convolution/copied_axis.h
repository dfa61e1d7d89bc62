// One axis of the elements that windows touch.
#pragma once

#include <cstdint>

#include "ops/support/window.h"

namespace tenon::cpu {

/// Windows that overlap find their elements as they lie; else those of each window come behind
/// those of the window before.
struct CopiedAxis {
  Window window;
  int64_t in, out;  // elements of the data and of the result

  bool overlaps() const { return window.dilation == 1 && window.stride <= window.kernel; }
  /// Elements from a window to the next.
  int64_t step() const { return overlaps() ? window.stride : window.kernel; }
  /// Of so many windows, at least one.
  int64_t elements(int64_t windows) const { return (windows - 1) * step() + window.kernel; }
  /// The element of the data that comes at position `at` of a block that begins with window
  /// `first`; outside [0, in) it is padding.
  int64_t source(int64_t first, int64_t at) const {
    const int64_t before = first * window.stride - window.pre;
    if (overlaps()) return before + at;
    return before + at / window.kernel * window.stride + at % window.kernel * window.dilation;
  }
};

}  // namespace tenon::cpu
