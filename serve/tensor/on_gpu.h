// Where memory of a device is.
#ifndef TENON_SERVE_TENSOR_ON_GPU_H
#define TENON_SERVE_TENSOR_ON_GPU_H

#include <cuda_runtime_api.h>

namespace tenon::cudart {
/// Of our runtime (tenon/cudart/engine.h); null over NVIDIA's.
__attribute__((weak)) bool on_gpu() noexcept;
}  // namespace tenon::cudart

namespace tenon::serve {

/// Whether memory is a GPU's own. Without a GPU, memory of the device is the host's.
inline bool is_on_gpu(const void* data) {
  if (cudart::on_gpu != nullptr && !cudart::on_gpu()) return false;
  cudaPointerAttributes attributes{};
  const bool is_known = cudaPointerGetAttributes(&attributes, data) == cudaSuccess;
  if (!is_known) cudaGetLastError();
  return is_known && attributes.type == cudaMemoryTypeDevice;
}

}  // namespace tenon::serve

#endif  // TENON_SERVE_TENSOR_ON_GPU_H
