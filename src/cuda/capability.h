// What the current GPU can do.
#pragma once

#include <cuda_runtime_api.h>

namespace tenon::cuda {

/// Whether its compute capability is `major`.0 or more.
inline bool has_capability(int major) {
  int device = 0, found = 0;
  return cudaGetDevice(&device) == cudaSuccess
         && cudaDeviceGetAttribute(&found, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess
         && found >= major;
}

}  // namespace tenon::cuda
