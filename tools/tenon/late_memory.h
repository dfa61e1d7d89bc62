// Device memory of outputs whose size only the run tells.
#pragma once

#include <NvInfer.h>

#include "array.h"
#include "engine_memory.h"

namespace tenon::tool {

/// Grows as needed, and is freed with the object.
class LateMemory final : public nvinfer1::IOutputAllocator {
 public:
  explicit LateMemory(nvinfer1::ICudaEngine& engine) : memory_(engine) {}
  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t,
                              cudaStream_t) noexcept override {
    memory_.reserve(size);
    return memory_.data();
  }
  void notifyShape(const char*, const nvinfer1::Dims& dims) noexcept override {
    shape_ = to_vector(dims);
  }
  void* data() const { return memory_.data(); }
  const std::vector<int64_t>& shape() const { return shape_; }

 private:
  EngineMemory memory_;
  std::vector<int64_t> shape_;
};

}  // namespace tenon::tool
