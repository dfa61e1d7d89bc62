#include "cuda/nvrtc/axes.h"

#include <bit>

#include "base/error.h"

namespace tenon::cuda {

AxisParameters axis_parameters(int64_t extent) {
  if (extent < 1 || extent > INT32_MAX)
    fail(ErrorCode::kUNSUPPORTED_STATE, "an axis of {} elements is not supported", extent);
  const auto divisor = static_cast<uint32_t>(extent);
  const auto shift = static_cast<uint32_t>(std::bit_width(divisor - 1));
  const uint64_t excess = (uint64_t{1} << shift) - divisor;
  return {divisor, static_cast<uint32_t>((excess << 32) / divisor + 1), shift, 0};
}

AxesParameters::AxesParameters(const Shape& extents, const Shape& strides)
    : rank(static_cast<uint32_t>(extents.rank())) {
  if (extents.volume() > INT32_MAX)
    fail(ErrorCode::kUNSUPPORTED_STATE, "{} elements to walk through are not supported",
         extents.volume());
  for (int i = 0; i < extents.rank(); ++i) {
    axis[i] = axis_parameters(extents[i]);
    stride[i] = strides[i];
  }
}

}  // namespace tenon::cuda
