// Constant weights, memory owned by the library, and allocators the application supplies.
#ifndef TENON_API_MEMORY_H
#define TENON_API_MEMORY_H

#include "NvInferImpl.h"
#include "NvInferRuntimeCommon.h"

namespace nvinfer1 {

enum class TensorLocation : int32_t {
  kDEVICE = 0,
  kHOST = 1,
};

template <>
struct impl::EnumMaxImpl<TensorLocation> {
  static constexpr int32_t kVALUE = 2;
};

enum class WeightsRole : int32_t {
  kKERNEL = 0,
  kBIAS = 1,
  kSHIFT = 2,
  kSCALE = 3,
  kCONSTANT = 4,
  kANY = 5,
};

template <>
struct impl::EnumMaxImpl<WeightsRole> {
  static constexpr int32_t kVALUE = 6;
};

class Weights {
 public:
  DataType type;
  const void* values;
  int64_t count;
};

class INoCopy {
 protected:
  INoCopy() = default;
  virtual ~INoCopy() noexcept = default;
  INoCopy(const INoCopy&) = delete;
  INoCopy& operator=(const INoCopy&) = delete;
  INoCopy(INoCopy&&) = delete;
  INoCopy& operator=(INoCopy&&) = delete;
};

class IHostMemory : public INoCopy {
 public:
  ~IHostMemory() noexcept override = default;
  void* data() const noexcept { return mImpl->data(); }
  size_t size() const noexcept { return mImpl->size(); }
  DataType type() const noexcept { return mImpl->type(); }

#include "tenon/compat8/IHostMemory.inl"
 protected:
  apiv::VHostMemory* mImpl;
};

enum class AllocatorFlag : int32_t {
  kRESIZABLE = 0,
};

template <>
struct impl::EnumMaxImpl<AllocatorFlag> {
  static constexpr int32_t kVALUE = 1;
};

namespace v_1_0 {
class IGpuAllocator : public IVersionedInterface {
 public:
  virtual void* allocate(uint64_t size, uint64_t alignment, AllocatorFlags flags) noexcept = 0;
  ~IGpuAllocator() noexcept override = default;
  virtual void* reallocate(void* /*memory*/, uint64_t /*alignment*/,
                           uint64_t /*newSize*/) noexcept {
    return nullptr;
  }
  virtual bool deallocate(void* memory) noexcept {
    free(memory);
    return true;
  }
  virtual void* allocateAsync(uint64_t size, uint64_t alignment, AllocatorFlags flags,
                              cudaStream_t /*stream*/) noexcept {
    return allocate(size, alignment, flags);
  }
  virtual bool deallocateAsync(void* memory, cudaStream_t /*stream*/) noexcept {
    return deallocate(memory);
  }
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IGpuAllocator", 1, 0}; }

#include "tenon/compat8/IGpuAllocator.inl"
};
}  // namespace v_1_0

namespace v_1_0 {
class IGpuAsyncAllocator : public IGpuAllocator {
 public:
  ~IGpuAsyncAllocator() noexcept override = default;
  void* allocateAsync(uint64_t size, uint64_t alignment, AllocatorFlags flags,
                      cudaStream_t stream) noexcept override = 0;
  bool deallocateAsync(void* memory, cudaStream_t stream) noexcept override = 0;
  void* allocate(uint64_t size, uint64_t alignment, AllocatorFlags flags) noexcept override {
    return allocateAsync(size, alignment, flags, nullptr);
  }
  bool deallocate(void* memory) noexcept override { return deallocateAsync(memory, nullptr); }
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IGpuAllocator", 1, 0}; }
};
}  // namespace v_1_0

namespace v_1_0 {
class IOutputAllocator : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IOutputAllocator", 1, 0}; }
  virtual void* reallocateOutput(const char* /*tensorName*/, void* /*currentMemory*/,
                                 uint64_t /*size*/, uint64_t /*alignment*/) noexcept {
    return nullptr;
  }
  virtual void* reallocateOutputAsync(const char* tensorName, void* currentMemory, uint64_t size,
                                      uint64_t alignment, cudaStream_t /*stream*/) {
    return reallocateOutput(tensorName, currentMemory, size, alignment);
  }
  virtual void notifyShape(const char* tensorName, const Dims& dimensions) noexcept = 0;

#include "tenon/compat8/IOutputAllocator.inl"
};
}  // namespace v_1_0

}  // namespace nvinfer1

#endif  // TENON_API_MEMORY_H
