/// Attributes that kernels read: lists of numbers, where the kernel runs.
#pragma once

#include <tenon/plugin/device.h>

#include <stdexcept>
#include <vector>

namespace tenon::kernels::inline TENON_TARGET {

/// Bytes of workspace that on_device() takes.
inline size_t device_bytes(const std::vector<float>& list) {
  return list.size() * sizeof(float);
}

/// The list itself on the CPU; on CUDA a copy in the workspace, from byte `at` on.
inline const float* on_device(const kit::Device& device, const std::vector<float>& list,
                              size_t at = 0) {
#if defined(__CUDACC__)
  auto* copy = reinterpret_cast<float*>(static_cast<char*>(device.workspace) + at);
  const cudaError_t error =
      cudaMemcpyAsync(copy, list.data(), device_bytes(list), cudaMemcpyHostToDevice, device.stream);
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
  return copy;
#else
  return list.data();
#endif
}

}  // namespace tenon::kernels::inline TENON_TARGET
