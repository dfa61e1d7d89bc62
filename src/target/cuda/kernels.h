// The implementations that the CUDA target's lists are made of.
#pragma once

#include "target/target.h"

namespace tenon::cuda {

/// Runs the op's reference kernel on the host, with copies there and back; any op, linear layout.
Offer offer_host(const KernelRequest& request);
/// A reorder from a layout to the same one.
Offer offer_copy(const KernelRequest& request);

}  // namespace tenon::cuda
