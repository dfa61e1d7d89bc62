// Device memory of outputs whose size only the run tells.
#pragma once

#include <NvInfer.h>
#include <cuda_runtime_api.h>

#include "array.h"

namespace tenon::tool {

/// Grows as needed, and is freed with the object.
class LateMemory final : public nvinfer1::IOutputAllocator {
 public:
  ~LateMemory() override { cudaFree(data_); }
  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t,
                              cudaStream_t) noexcept override {
    if (size <= bytes_) return data_;
    cudaFree(data_);
    data_ = nullptr;
    bytes_ = cudaMalloc(&data_, size) == cudaSuccess ? size : 0;
    return data_;
  }
  void notifyShape(const char*, const nvinfer1::Dims& dims) noexcept override {
    shape_ = to_vector(dims);
  }
  void* data() const { return data_; }
  const std::vector<int64_t>& shape() const { return shape_; }

 private:
  void* data_ = nullptr;
  uint64_t bytes_ = 0;
  std::vector<int64_t> shape_;
};

}  // namespace tenon::tool
