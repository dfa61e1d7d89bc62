// Strided arrays with as few axes as they can have.
#pragma once

#include "base/shape.h"

namespace tenon {

/// Axes from the outermost in, and what to skip for a step along each of them.
struct CoalescedAxes {
  Shape extents, strides;

  /// Adds an axis inside the others. One that continues the axis around it makes that longer, and
  /// one of a single element adds nothing.
  void add(int64_t extent, int64_t stride);
};

/// The axes of an array; one of a single element when there is nothing else to walk along, and one
/// of none when there are no elements. Strides are multiplied by `unit`: the bytes of an element,
/// say.
CoalescedAxes coalesced_axes(const Shape& extents, const Shape& strides, int64_t unit = 1);

}  // namespace tenon
