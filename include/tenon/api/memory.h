// Constant weights, memory owned by the library, and allocators the application supplies.
#ifndef TENON_API_MEMORY_H
#define TENON_API_MEMORY_H

#include "NvInferImpl.h"
#include "tenon/api/registry.h"

namespace nvinfer1 {

/// Where the buffer of a tensor lies.
enum class TensorLocation : int32_t {
  kDEVICE = 0,  ///< In the memory of the device that runs the engine.
  kHOST = 1,    ///< In host memory.
};

template <> struct impl::EnumMaxImpl<TensorLocation> {
  static constexpr int32_t kVALUE = 2;
};

/// What weights are to their layer; used to name them when refitting.
enum class WeightsRole : int32_t {
  kKERNEL = 0,    ///< The kernel of a convolution, deconvolution or fully connected layer.
  kBIAS = 1,      ///< The bias of such a layer.
  kSHIFT = 2,     ///< The shift of a scale layer.
  kSCALE = 3,     ///< The scale of a scale layer.
  kCONSTANT = 4,  ///< The values of a constant layer.
  kANY = 5,       ///< Any of them, for weights that have a name.
};

template <> struct impl::EnumMaxImpl<WeightsRole> {
  static constexpr int32_t kVALUE = 6;
};

/// Constant values in memory of the application, not copied: they must stay until the engine is
/// built.
class Weights {
 public:
  DataType type;       ///< The type of the values.
  const void* values;  ///< The values; null if there are none.
  int64_t count;       ///< How many values there are.
};

/// Base of the handles: objects that the library makes and that are never copied.
class INoCopy {
 protected:
  INoCopy() = default;
  virtual ~INoCopy() noexcept = default;
  INoCopy(const INoCopy&) = delete;
  INoCopy& operator=(const INoCopy&) = delete;
  INoCopy(INoCopy&&) = delete;
  INoCopy& operator=(INoCopy&&) = delete;
};

/// A block of host memory, such as a plan. The caller deletes it.
class IHostMemory : public INoCopy {
 public:
  ~IHostMemory() noexcept override = default;

  /// The first byte.
  void* data() const noexcept { return mImpl->data(); }

  /// The size in bytes.
  size_t size() const noexcept { return mImpl->size(); }

  /// What the block holds; kINT8 for plans.
  DataType type() const noexcept { return mImpl->type(); }

#if TENON_TRT_OLDER_NAMES
#include "tenon/compat8/IHostMemory.inl"
#endif
 protected:
  apiv::VHostMemory* mImpl;
};

/// What an allocation must allow, one bit each.
enum class AllocatorFlag : int32_t {
  kRESIZABLE = 0,  ///< The block may be passed to reallocate().
};

template <> struct impl::EnumMaxImpl<AllocatorFlag> {
  static constexpr int32_t kVALUE = 1;
};

namespace v_1_0 {
/// Allocates memory for the library; the application implements it. Called from several threads.
class IGpuAllocator : public IVersionedInterface {
 public:
  /// A block of at least `size` bytes, aligned to `alignment`, a power of two; null if there is
  /// none or size is 0.
  virtual void* allocate(uint64_t size, uint64_t alignment, AllocatorFlags flags) noexcept = 0;
  ~IGpuAllocator() noexcept override = default;

  /// Grows a block that was allocated as resizable and keeps its contents; null if that is not
  /// possible, and then the old block stays.
  virtual void* reallocate(void* /*memory*/, uint64_t /*alignment*/,
                           uint64_t /*newSize*/) noexcept {
    return nullptr;
  }

  /// Frees a block, which may be null; false on failure.
  virtual bool deallocate(void* memory) noexcept {
    free(memory);
    return true;
  }

  /// Like allocate(), for use on `stream`.
  virtual void* allocateAsync(uint64_t size, uint64_t alignment, AllocatorFlags flags,
                              cudaStream_t /*stream*/) noexcept {
    return allocate(size, alignment, flags);
  }

  /// Like deallocate(), once the work on `stream` is done.
  virtual bool deallocateAsync(void* memory, cudaStream_t /*stream*/) noexcept {
    return deallocate(memory);
  }
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IGpuAllocator", 1, 0}; }

#include "tenon/compat8/IGpuAllocator.inl"
};

/// An allocator whose allocations follow the order of a stream.
class IGpuAsyncAllocator : public IGpuAllocator {
 public:
  ~IGpuAsyncAllocator() noexcept override = default;

  /// A block of at least `size` bytes for use on `stream`; null if there is none.
  void* allocateAsync(uint64_t size, uint64_t alignment, AllocatorFlags flags,
                      cudaStream_t stream) noexcept override = 0;

  /// Frees a block once the work on `stream` is done; false on failure.
  bool deallocateAsync(void* memory, cudaStream_t stream) noexcept override = 0;
  void* allocate(uint64_t size, uint64_t alignment, AllocatorFlags flags) noexcept override {
    return allocateAsync(size, alignment, flags, nullptr);
  }
  bool deallocate(void* memory) noexcept override { return deallocateAsync(memory, nullptr); }
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IGpuAllocator", 1, 0}; }
};

/// Gives memory to outputs whose size is known only while the engine runs; the application
/// implements it.
class IOutputAllocator : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IOutputAllocator", 1, 0}; }

  /// Memory of at least `size` bytes for the output; may be `currentMemory`. Null makes the run
  /// fail.
  virtual void* reallocateOutput(const char* /*tensorName*/, void* /*currentMemory*/,
                                 uint64_t /*size*/, uint64_t /*alignment*/) noexcept {
    return nullptr;
  }

  /// Like reallocateOutput(), for use on `stream`.
  virtual void* reallocateOutputAsync(const char* tensorName, void* currentMemory, uint64_t size,
                                      uint64_t alignment, cudaStream_t /*stream*/) {
    return reallocateOutput(tensorName, currentMemory, size, alignment);
  }

  /// Tells the shape of the output once it is known.
  virtual void notifyShape(const char* tensorName, const Dims& dimensions) noexcept = 0;

#include "tenon/compat8/IOutputAllocator.inl"
};
}  // namespace v_1_0

}  // namespace nvinfer1

#endif  // TENON_API_MEMORY_H
