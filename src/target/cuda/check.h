// Errors of CUDA become ours.
#pragma once

#include <cuda_runtime_api.h>

#include "base/error.h"

namespace tenon::cuda {

/// Throws Error unless the call succeeded. `what` says what was tried: "a copy to the host".
inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // or the next launch would seem to have failed
  fail(status == cudaErrorMemoryAllocation ? ErrorCode::kFAILED_ALLOCATION
                                           : ErrorCode::kFAILED_EXECUTION,
       "CUDA: {} failed: {} ({})", what, cudaGetErrorString(status), cudaGetErrorName(status));
}

/// Throws if the kernel that was launched last could not start.
inline void check_launch(const char* kernel) {
  check(cudaGetLastError(), kernel);
}

}  // namespace tenon::cuda
