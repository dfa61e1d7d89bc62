// Where a target's kernels read and write: memory of the host, or of a device with copies between.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <span>

#include "base/function_ref.h"
#include "base/tensor.h"
#include "target/host_caches.h"

namespace tenon {

/// Memory of a target. Thread-safe; device functions work on the current device of the thread.
class Device {
 public:
  virtual ~Device() = default;
  /// Whether kernels work on host memory, on the calling thread: then nothing is copied, and
  /// streams matter to plugins alone.
  virtual bool is_host() const = 0;
  /// Aligned to 256 bytes (64 on the host). Throws Error(kFAILED_ALLOCATION) when there is none.
  virtual void* allocate(size_t bytes) const = 0;
  /// Waits for work that may still use it.
  virtual void release(void* data) const noexcept = 0;
  /// Host memory into the device's, after what is in the stream. `from` may change at once, unless
  /// it is pinned: the stream reads that itself, when it comes to it.
  virtual void copy_in(void* to, const void* from, size_t bytes, cudaStream_t stream) const = 0;
  /// The device's memory into the host's, after what is in the stream; returns when it is there.
  virtual void copy_out(void* to, const void* from, size_t bytes, cudaStream_t stream) const = 0;
  /// Within the device's memory, in the stream.
  virtual void copy(void* to, const void* from, size_t bytes, cudaStream_t stream) const = 0;
  /// Whether kernels can work at an address that a caller gives: those of a GPU not where the host
  /// alone can, those of the host not where a GPU alone can.
  virtual bool reaches(const void* data) const = 0;
  /// Whether the host can read there.
  virtual bool host_reaches(const void* data) const = 0;
  /// What is wrong with memory that kernels do not reach, behind the words that name it.
  const char* why_not_reached() const {
    return is_host() ? "is a GPU's memory, and the engine runs on the CPU: give it memory of the "
                       "host, or of both (cudaMallocHost)"
                     : "is memory of the host, or of another device, that the engine's device "
                       "cannot use: give it memory of the device (cudaMalloc), or of the host that "
                       "both can use (cudaMallocHost)";
  }
  /// Rows within the device's memory, in the stream: each of `bytes`, which begin so many bytes
  /// after one another.
  virtual void copy_rows(void* to, size_t to_step, const void* from, size_t from_step, size_t bytes,
                         size_t rows, cudaStream_t stream) const = 0;
  /// Zeros in the device's memory, in the stream.
  virtual void clear(void* data, size_t bytes, cudaStream_t stream) const = 0;
  /// Which of the machine's devices is the thread's current one; 0 on the host.
  virtual int current() const { return 0; }
  virtual void make_current(int) const {}
  /// The least milliseconds that one of several calls of `run` takes.
  /// @param found what a call finds in the host's caches; other devices leave it out.
  virtual float measure(FunctionRef<void(cudaStream_t)> run, const CacheState& found) const = 0;
  /// Bytes of the host's largest cache; 0 on other devices.
  virtual size_t cache_bytes() const { return 0; }
};

/// The host's own memory.
const Device& host_device();

/// Memory of a device, owned.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(const Device& device, size_t bytes)
      : device_(&device), data_(bytes > 0 ? device.allocate(bytes) : nullptr), bytes_(bytes) {}
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer() {
    if (data_ != nullptr) device_->release(data_);
  }
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void swap(DeviceBuffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  const Device* device_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace tenon
