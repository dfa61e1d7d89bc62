// What the current GPU can do.
#pragma once

#include <cuda_runtime_api.h>

namespace tenon::cuda {

/// The major number of its compute capability; 0 without a GPU.
inline int capability_major() {
  int device = 0, found = 0;
  const bool is_known =
      cudaGetDevice(&device) == cudaSuccess
      && cudaDeviceGetAttribute(&found, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess;
  return is_known ? found : 0;
}

/// Whether its compute capability is `major`.0 or more.
inline bool has_capability(int major) {
  return capability_major() >= major;
}

/// Its streaming multiprocessors; 1 if it cannot be told.
inline int multiprocessors() {
  int device = 0, found = 1;
  if (cudaGetDevice(&device) == cudaSuccess)
    cudaDeviceGetAttribute(&found, cudaDevAttrMultiProcessorCount, device);
  return found;
}

}  // namespace tenon::cuda
