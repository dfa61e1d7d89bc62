#include "tenon/session/memory.h"

#include <tenon/gpu.h>

#include <algorithm>

namespace tenon::session {

// Without Tenon's library the function is not there, and engines are on a GPU.
bool runs_on_cpu(const nvinfer1::ICudaEngine& engine) {
  return tenonGpuOfEngine != nullptr && tenonGpuOfEngine(&engine) < 0;
}

cudaError_t Memory::reserve(size_t bytes) noexcept {
  if (data_ != nullptr && bytes <= bytes_) return cudaSuccess;
  // An eighth more than before, so that sizes that grow a little fit.
  bytes = std::max({bytes, bytes_ + bytes_ / 8, size_t{1}});
  release();
  const cudaError_t status = kind_ == Kind::kPinned ? cudaMallocHost(&data_, bytes)
                             : kind_ == Kind::kManaged
                                 ? cudaMallocManaged(&data_, bytes, cudaMemAttachGlobal)
                                 : cudaMalloc(&data_, bytes);
  if (status == cudaSuccess) {
    bytes_ = bytes;
    return status;
  }
  cudaGetLastError();  // the caller knows, and others would take it for an error of theirs
  data_ = nullptr;
  return status;
}

void Memory::release() noexcept {
  if (data_ != nullptr) kind_ == Kind::kPinned ? cudaFreeHost(data_) : cudaFree(data_);
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace tenon::session
