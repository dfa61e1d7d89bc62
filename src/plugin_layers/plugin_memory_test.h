// How a test's plugin reads and writes elements, whichever memory the engine gives it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstring>
#include <vector>

// Weak: programs without a CUDA runtime give plugins their own memory.
extern "C" __attribute__((weak)) cudaError_t cudaMemcpyAsync(void* to, const void* from,
                                                             size_t bytes, cudaMemcpyKind kind,
                                                             cudaStream_t stream);
extern "C" __attribute__((weak)) cudaError_t cudaStreamSynchronize(cudaStream_t stream);

namespace tenon::testing {

inline void copy_elements(void* to, const void* from, size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return;
  if (cudaMemcpyAsync == nullptr) {
    std::memcpy(to, from, bytes);
    return;
  }
  cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
  cudaStreamSynchronize(stream);
}

/// A copy of elements that a plugin finds on the device.
template <class T> std::vector<T> on_host(const void* data, size_t count, cudaStream_t stream) {
  std::vector<T> values(count);
  copy_elements(values.data(), data, count * sizeof(T), stream);
  return values;
}
/// Elements that a plugin writes there.
template <class T> void to_device(void* data, const std::vector<T>& values, cudaStream_t stream) {
  copy_elements(data, values.data(), values.size() * sizeof(T), stream);
}

}  // namespace tenon::testing
