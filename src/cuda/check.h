// Errors of CUDA become ours.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "base/error.h"

namespace tenon::cuda {

/// Throws Error unless the call succeeded. `what` says what was tried: "a copy to the host".
inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // or the next launch would seem to have failed
  fail(status == cudaErrorMemoryAllocation ? ErrorClass::kMemory : ErrorClass::kCuda,
       "CUDA: {} failed: {} ({})", what, cudaGetErrorString(status), cudaGetErrorName(status));
}

/// Throws Error for a call of a library that failed, with what CUDA says of the device: libraries
/// tell their own part alone when a kernel before them has broken it.
[[noreturn]] inline void fail_in(const char* library, const char* what, const char* status) {
  const cudaError_t broken = cudaFree(nullptr);
  static_cast<void>(cudaGetLastError());
  fail(ErrorCode::kFAILED_EXECUTION, "{}: {} failed: {}{}", library, what, status,
       broken == cudaSuccess
           ? std::string()
           : fmt::format("; CUDA: {} ({})", cudaGetErrorString(broken), cudaGetErrorName(broken)));
}

/// Throws Error unless the addresses are multiples of so many bytes, null among them. For kernels
/// that count on it and have no others: a wrong address would break the device for the process.
inline void check_alignment(std::span<const void* const> addresses, size_t bytes) {
  for (const void* address : addresses)
    require(
        reinterpret_cast<uintptr_t>(address) % bytes == 0,
        "its kernel needs tensors at multiples of {} bytes, and one is at {}: give the network's "
        "inputs and outputs such addresses",
        bytes, address);
}

/// Throws if the kernel that was launched last could not start.
inline void check_launch(const char* kernel) {
  check(cudaGetLastError(), kernel);
}

}  // namespace tenon::cuda
