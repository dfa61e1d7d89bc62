// Kernels of float32 for 16-bit floats.
#pragma once

#include "target/target.h"

namespace tenon::cpu {

/// The kernel that `offer` makes for float32, with half and bfloat16 inputs widened before it runs,
/// constants when it is made, and its results rounded once. Refuses when there is no such tensor.
Offer offer_widened(const KernelRequest& request, Offer (*offer)(const KernelRequest&));

template <Offer (*offer)(const KernelRequest&)> Offer widened(const KernelRequest& request) {
  return offer_widened(request, offer);
}

}  // namespace tenon::cpu
