// The op's reference kernel as a kernel of any target that works on host memory.
#pragma once

#include "backend/target.h"

namespace tenon {

/// Calls the op's reference kernel; any op, linear layout.
Offer offer_reference(const KernelRequest& request);
/// The same as an execution. The op outlives it.
std::unique_ptr<Execution> prepare_reference(const Op& op, std::span<const TensorSpec> inputs,
                                             std::span<const TensorSpec> outputs);

}  // namespace tenon
