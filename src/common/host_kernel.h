// Kernels of the host for targets that have a device.
#pragma once

#include "backend/target.h"

namespace tenon {

/// The kernel, which works on the host, with its inputs copied there and its outputs back. So a
/// network with layers that have no kernel of their own runs whole, at the price of waiting.
std::unique_ptr<Kernel> beside_device(std::unique_ptr<Kernel> kernel, const Device& device,
                                      size_t inputs);

}  // namespace tenon
