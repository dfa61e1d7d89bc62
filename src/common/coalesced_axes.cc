#include "common/coalesced_axes.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {

void CoalescedAxes::add(int64_t extent, int64_t stride) {
  if (extent == 1) return;
  const int last = extents.rank() - 1;
  if (last >= 0 && strides[last] == stride * extent) {
    extents[last] *= extent;
    strides[last] = stride;
  } else {
    extents.push_back(extent);
    strides.push_back(stride);
  }
}

CoalescedAxes coalesced_axes(const Shape& extents, const Shape& strides, int64_t unit) {
  require(extents.rank() == strides.rank(), "an array {} with strides {}", extents, strides);
  // Other extents may be any, and their products too large.
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return {Shape{0}, Shape{unit}};
  CoalescedAxes joined;
  for (int i = 0; i < extents.rank(); ++i) joined.add(extents[i], strides[i] * unit);
  if (joined.extents.rank() == 0) joined = {Shape{1}, Shape{unit}};
  return joined;
}

}  // namespace tenon
