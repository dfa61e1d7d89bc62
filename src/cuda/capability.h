// What the current GPU can do.
#pragma once

#include <cuda_runtime_api.h>

namespace tenon::cuda {

/// A number of the current GPU; `otherwise` if it cannot be told.
inline int device_attribute(cudaDeviceAttr attribute, int otherwise) {
  int device = 0, found = 0;
  const bool is_known = cudaGetDevice(&device) == cudaSuccess
                        && cudaDeviceGetAttribute(&found, attribute, device) == cudaSuccess;
  return is_known ? found : otherwise;
}

/// The major number of its compute capability; 0 without a GPU.
inline int capability_major() {
  return device_attribute(cudaDevAttrComputeCapabilityMajor, 0);
}

/// Whether its compute capability is `major`.`minor` or more.
inline bool has_capability(int major, int minor = 0) {
  const int found = capability_major();
  return found > major
         || (found == major && device_attribute(cudaDevAttrComputeCapabilityMinor, 0) >= minor);
}

/// Its streaming multiprocessors; 1 if it cannot be told.
inline int multiprocessors() {
  return device_attribute(cudaDevAttrMultiProcessorCount, 1);
}

}  // namespace tenon::cuda
