// Memory for an engine's inputs and outputs.
#pragma once

#include <cuda_runtime_api.h>
#include <tenon/gpu.h>

#include <utility>

namespace tenon::tool {

/// Memory that CUDA's copies and the engine's target both reach: a GPU's own, or, for an engine on
/// the CPU, pinned memory of the host, since the machine may have a GPU all the same.
class EngineMemory {
 public:
  explicit EngineMemory(nvinfer1::ICudaEngine& engine) : is_pinned_(tenon::gpu_of(engine) < 0) {}
  ~EngineMemory() { release(); }
  EngineMemory(EngineMemory&& other) noexcept
      : is_pinned_(other.is_pinned_),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  EngineMemory(const EngineMemory&) = delete;
  EngineMemory& operator=(const EngineMemory&) = delete;

  /// At least so many bytes, none of what was there before. There are none after an error.
  cudaError_t reserve(size_t bytes) {
    if (bytes <= bytes_) return cudaSuccess;
    release();
    const cudaError_t status =
        is_pinned_ ? cudaMallocHost(&data_, bytes) : cudaMalloc(&data_, bytes);
    if (status == cudaSuccess) bytes_ = bytes;
    return status;
  }
  void* data() const { return bytes_ > 0 ? data_ : nullptr; }

 private:
  void release() {
    if (bytes_ > 0) is_pinned_ ? cudaFreeHost(data_) : cudaFree(data_);
    bytes_ = 0;
  }
  bool is_pinned_;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace tenon::tool
