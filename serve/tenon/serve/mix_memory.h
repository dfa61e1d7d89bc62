// Memory of the host and of a GPU for the same data.
#ifndef TENON_SERVE_MIX_MEMORY_H
#define TENON_SERVE_MIX_MEMORY_H

#include <cuda_runtime_api.h>
#include <tenon/session/result.h>

#include <cstddef>

namespace tenon::serve {

using session::Error;
using session::Result;

/// The device that is current in the calling thread.
constexpr int kCurrentDevice = -1;

/// Makes a device current as long as it lives, then the one before.
class AutoDevice {
 public:
  explicit AutoDevice(int device) noexcept;
  ~AutoDevice();
  AutoDevice(const AutoDevice&) = delete;
  AutoDevice& operator=(const AutoDevice&) = delete;

  /// cudaErrorInvalidDevice where there is no such device.
  cudaError_t status() const { return status_; }

 private:
  int before_ = kCurrentDevice;
  cudaError_t status_ = cudaSuccess;
};

/// Memory of the host, pinned where there is a GPU, and memory of a device. Either is made when it
/// is first asked for and only grows; both may be the caller's, who keeps them. For one thread at a
/// time. Nothing is copied between the two: Tensor does that.
class MixMemory {
 public:
  explicit MixMemory(int device = kCurrentDevice) noexcept;
  /// Memory of the caller's, which outlives this; null with size 0 for none of that kind.
  MixMemory(void* cpu, size_t cpu_size, void* gpu, size_t gpu_size,
            int device = kCurrentDevice) noexcept;
  ~MixMemory();
  MixMemory(const MixMemory&) = delete;
  MixMemory& operator=(const MixMemory&) = delete;

  /// At least so many bytes. Growing loses what was there; new memory is zero. An error when the
  /// caller's own memory is smaller, when there is no such device, and when there is no memory;
  /// what was there stays then.
  Result<void*> cpu(size_t bytes) noexcept;
  Result<void*> gpu(size_t bytes) noexcept;

  /// What is there; null before it was asked for.
  void* cpu() const { return cpu_.data; }
  void* gpu() const { return gpu_.data; }
  /// Bytes that are there.
  size_t cpu_size() const { return cpu_.size; }
  size_t gpu_size() const { return gpu_.size; }
  /// Whether it is freed with this: not so for the caller's.
  bool owner_cpu() const { return cpu_.is_own; }
  bool owner_gpu() const { return gpu_.is_own; }
  /// The device; the one that was current when this was made, if none was named.
  int device_id() const { return device_; }

  void release_cpu() noexcept;
  void release_gpu() noexcept;
  void release_all() noexcept {
    release_cpu();
    release_gpu();
  }
  /// Releases what is there, and refers to the caller's memory from now on.
  void reference_data(void* cpu, size_t cpu_size, void* gpu, size_t gpu_size,
                      int device = kCurrentDevice) noexcept;

 private:
  struct Block {
    void* data = nullptr;
    size_t size = 0;
    bool is_own = true;
  };
  using Allocate = cudaError_t (*)(void**, size_t);
  using Free = cudaError_t (*)(void*);
  Result<void*> grown(Block& block, size_t bytes, const char* kind, Allocate allocate, Free free,
                      bool on_host) noexcept;

  int device_;
  Block cpu_, gpu_;
};

}  // namespace tenon::serve

#endif  // TENON_SERVE_MIX_MEMORY_H
