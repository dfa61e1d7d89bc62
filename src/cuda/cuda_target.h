// The CUDA target: an NVIDIA GPU.
#pragma once

#include <string>

#include "backend/target.h"

namespace tenon::cuda {

/// Why no GPU can be used: no driver, no device, TENON_TARGET=cpu; "" when one can.
const std::string& reason_for_no_gpu();

/// The target of the current device of the calling thread; lives as long as the process. Throws
/// when there is no GPU.
const Target& cuda_target();

/// Memory of the current device of the calling thread.
const Device& cuda_device();

}  // namespace tenon::cuda
