// How exact a convolution's kernel is on the layer's own weights.
#pragma once

#include <optional>

#include "backend/target.h"

namespace tenon {

/// The largest error and the root mean square of all, and what both may be: parts of the range of
/// the exact results.
struct MeasuredError {
  KernelError error, allowed;

  bool is_allowed() const { return error.largest <= allowed.largest && error.rms <= allowed.rms; }
};

/// Runs the kernel of a float32 convolution with constant weights once, on random data of the
/// request's shapes, and compares results at some hundred random places with sums in float64.
/// Allowed are errors of 1e-5, with a root mean square of 5e-7 times the root of a 64th of the
/// products in a sum, four times those of plain float32 sums, or what the epilogue makes of such
/// errors of sums, whichever is largest. Nothing for other layers and kernels, and where results
/// are not finite.
std::optional<MeasuredError> measure_error(const Kernel& kernel, const KernelRequest& request,
                                           const Device& device);

}  // namespace tenon
