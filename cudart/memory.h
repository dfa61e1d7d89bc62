/// The allocations of the process, and how much memory the machine has.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>

namespace tenon::cudart {

struct MachineMemory {
  std::size_t free;
  std::size_t total;
};

/// What this process may still use, and the whole, of the machine or of its control group.
MachineMemory machine_memory();

struct Allocation {
  std::uintptr_t base;
  std::size_t size;
  cudaMemoryType type;
  unsigned flags;
  /// False for memory of the application that it registered with us.
  bool owned;
  /// `cudaFreeAsync` has been called for it.
  bool leaving;
};

/// Knows every block that the runtime gave out or was told of. Readers do not exclude each other.
class MemoryRegistry {
 public:
  static constexpr std::size_t kAlignment = 256;

  /// Null for 0 bytes, and with `cudaErrorMemoryAllocation` when there is no room.
  cudaError_t allocate(void** pointer, std::size_t size, cudaMemoryType type, unsigned flags);
  cudaError_t register_host(void* pointer, std::size_t size, unsigned flags);
  cudaError_t unregister_host(void* pointer);

  /// The block that holds a pointer.
  std::optional<Allocation> find(const void* pointer);
  /// The block that starts at a pointer, if it is one of `type` and is not leaving yet.
  /// With `leave`, it is marked as leaving, once.
  std::optional<Allocation> claim(const void* pointer, bool leave);
  /// Whether a device could touch all of these bytes.
  bool device_can_access(const void* pointer, std::size_t size);

  void release(void* pointer);
  void release_all();

 private:
  std::shared_mutex mutex_;
  std::map<std::uintptr_t, Allocation> blocks_;
  std::atomic<std::size_t> in_use_{0};
};

MemoryRegistry& memory_registry();

}  // namespace tenon::cudart
