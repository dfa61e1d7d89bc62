/// Kernels by the addresses of their functions.
#pragma once

#include "tenon/hostcuda/launch.h"

namespace tenon::hostcuda {

/// Puts a kernel into a stream. Takes the body, also when it fails.
cudaError_t launch(const Recorded& body, Site site, dim3 grid, dim3 block, std::size_t shared_bytes,
                   cudaStream_t stream);

}  // namespace tenon::hostcuda
