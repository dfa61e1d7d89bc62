/// The API of memory: allocation, registration and questions about it.
#include <array>

#include "cudart/memory.h"
#include "cudart/runtime.h"

namespace tenon::cudart {
namespace {

constexpr unsigned kHostAllocFlags =
    cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
constexpr unsigned kHostRegisterFlags = cudaHostRegisterPortable | cudaHostRegisterMapped
                                        | cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;
/// Rows of `cudaMallocPitch` start at multiples of this.
constexpr std::size_t kPitchAlignment = 512;

/// The only pool there is. What is set is kept; memory goes back to the machine at once.
const auto kPool = reinterpret_cast<cudaMemPool_t>(std::uintptr_t{0x700});
std::array<std::atomic<std::uint64_t>, cudaMemPoolAttrUsedMemHigh + 1> pool_attributes{};

cudaError_t allocate(void** pointer, std::size_t size, cudaMemoryType type, unsigned flags) {
  return api([&](Runtime& all) {
    if (!pointer) return cudaErrorInvalidValue;
    if (const cudaError_t error = all.captures.check_unsafe_call()) return error;
    return memory_registry().allocate(pointer, size, type, flags);
  });
}

/// Frees a block of one of two types, after all work that may use it.
cudaError_t free_block(void* pointer, cudaMemoryType one, cudaMemoryType other) {
  return api([&](Runtime& all) {
    if (!pointer) return cudaSuccess;
    if (const cudaError_t error = all.captures.check_unsafe_call()) return error;
    const auto block = memory_registry().find(pointer);
    if (!block || (block->type != one && block->type != other)) return cudaErrorInvalidValue;
    // Work that frees memory itself is the last to use it; to wait for others could never end.
    if (!thread_context().inline_stream) wait_for_all();
    if (!memory_registry().claim(pointer, true)) return cudaErrorInvalidValue;
    memory_registry().release(pointer);
    return cudaSuccess;
  });
}

}  // namespace
}  // namespace tenon::cudart

using namespace tenon::cudart;

cudaError_t cudaMalloc(void** pointer, size_t size) {
  return allocate(pointer, size, cudaMemoryTypeDevice, 0);
}

cudaError_t cudaMallocHost(void** pointer, size_t size) {
  return cudaHostAlloc(pointer, size, cudaHostAllocDefault);
}

cudaError_t cudaHostAlloc(void** pointer, size_t size, unsigned int flags) {
  if (flags & ~kHostAllocFlags) return note(cudaErrorInvalidValue);
  return allocate(pointer, size, cudaMemoryTypeHost, flags | cudaHostAllocMapped);
}

cudaError_t cudaMallocManaged(void** pointer, size_t size, unsigned int flags) {
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) {
    return note(cudaErrorInvalidValue);
  }
  return allocate(pointer, size, cudaMemoryTypeManaged, flags);
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  if (!pitch) return note(cudaErrorInvalidValue);
  write_out(pitch, (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment);
  if (*pitch < width || (height && *pitch > SIZE_MAX / height)) {
    return note(cudaErrorMemoryAllocation);
  }
  return cudaMalloc(pointer, *pitch * height);
}

cudaError_t cudaFree(void* pointer) {
  return free_block(pointer, cudaMemoryTypeDevice, cudaMemoryTypeManaged);
}

cudaError_t cudaFreeHost(void* pointer) {
  return free_block(pointer, cudaMemoryTypeHost, cudaMemoryTypeHost);
}

cudaError_t cudaMallocAsync(void** pointer, size_t size, cudaStream_t stream) {
  return cudaMallocFromPoolAsync(pointer, size, kPool, stream);
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t size, cudaMemPool_t pool,
                                    cudaStream_t handle) {
  return api([&](Runtime&) {
    if (!pointer || pool != kPool) return cudaErrorInvalidValue;
    Place place;
    if (const cudaError_t error = find_place(handle, place)) return error;
    // An allocation node in a graph is not supported yet.
    if (!place.in_place && place.stream->capture.load()) return cudaErrorStreamCaptureUnsupported;
    return memory_registry().allocate(pointer, size, cudaMemoryTypeDevice, 0);
  });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  return api([&](Runtime&) {
    Place place;
    if (const cudaError_t error = find_place(handle, place)) return error;
    if (!pointer) return cudaSuccess;
    if (!place.in_place && place.stream->capture.load()) return cudaErrorStreamCaptureUnsupported;
    const auto block = memory_registry().find(pointer);
    if (!block || block->type != cudaMemoryTypeDevice) return cudaErrorInvalidValue;
    if (!memory_registry().claim(pointer, true)) return cudaErrorInvalidValue;
    return dispatch(place, FreeMemory{pointer});
  });
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return api([&](Runtime&) {
    if (!pool) return cudaErrorInvalidValue;
    if (device != 0) return cudaErrorInvalidDevice;
    *pool = kPool;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return cudaDeviceGetDefaultMemPool(pool, device);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return api([&](Runtime&) {
    if (pool != kPool || !value) return cudaErrorInvalidValue;
    if (attribute == cudaMemPoolAttrReleaseThreshold) {
      pool_attributes[attribute].store(*static_cast<std::uint64_t*>(value));
      return cudaSuccess;
    }
    if (attribute < cudaMemPoolReuseFollowEventDependencies
        || attribute > cudaMemPoolReuseAllowInternalDependencies) {
      return cudaErrorNotSupported;
    }
    pool_attributes[attribute].store(static_cast<std::uint64_t>(*static_cast<int*>(value)));
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return api([&](Runtime&) {
    if (pool != kPool || !value) return cudaErrorInvalidValue;
    if (attribute == cudaMemPoolAttrReleaseThreshold) {
      *static_cast<std::uint64_t*>(value) = pool_attributes[attribute].load();
      return cudaSuccess;
    }
    if (attribute < cudaMemPoolReuseFollowEventDependencies
        || attribute > cudaMemPoolReuseAllowInternalDependencies) {
      return cudaErrorNotSupported;
    }
    *static_cast<int*>(value) = static_cast<int>(pool_attributes[attribute].load());
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  return api([&](Runtime&) { return pool == kPool ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaHostRegister(void* pointer, size_t size, unsigned int flags) {
  return api([&](Runtime& all) {
    if (flags & ~kHostRegisterFlags) return cudaErrorInvalidValue;
    if (const cudaError_t error = all.captures.check_unsafe_call()) return error;
    return memory_registry().register_host(pointer, size, flags);
  });
}

cudaError_t cudaHostUnregister(void* pointer) {
  return api([&](Runtime& all) {
    if (!pointer) return cudaErrorInvalidValue;
    if (const cudaError_t error = all.captures.check_unsafe_call()) return error;
    return memory_registry().unregister_host(pointer);
  });
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int flags) {
  return api([&](Runtime&) {
    if (!device || flags != 0) return cudaErrorInvalidValue;
    const auto block = memory_registry().find(host);
    if (!block || block->type != cudaMemoryTypeHost) return cudaErrorInvalidValue;
    write_out(device, host);
    return cudaSuccess;
  });
}

cudaError_t cudaHostGetFlags(unsigned int* flags, void* host) {
  return api([&](Runtime&) {
    const auto block = memory_registry().find(host);
    if (!flags || !block || block->type != cudaMemoryTypeHost) return cudaErrorInvalidValue;
    write_out(flags, block->flags);
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return api([&](Runtime&) {
    const MachineMemory memory = machine_memory();
    if (free) write_out(free, memory.free);
    if (total) write_out(total, memory.total);
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return api([&](Runtime&) {
    if (!attributes) return cudaErrorInvalidValue;
    void* const address = const_cast<void*>(pointer);
    const auto block = memory_registry().find(pointer);
    write_out(attributes, {});
    attributes->type = block ? block->type : cudaMemoryTypeUnregistered;
    attributes->device = block ? 0 : cudaInvalidDeviceId;
    attributes->devicePointer = block ? address : nullptr;
    attributes->hostPointer = block && block->type == cudaMemoryTypeDevice ? nullptr : address;
    return cudaSuccess;
  });
}

cudaError_t cudaMemAdvise(const void* pointer, size_t count, cudaMemoryAdvise, cudaMemLocation) {
  return api([&](Runtime&) {
    // Advice about where memory should live: there is one place.
    const auto block = memory_registry().find(pointer);
    const bool valid = block && block->type == cudaMemoryTypeManaged
                       && memory_registry().device_can_access(pointer, count);
    return valid ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t count, cudaMemLocation location,
                                 unsigned int flags, cudaStream_t handle) {
  Place place;
  if (flags != 0) return note(cudaErrorInvalidValue);
  if (const cudaError_t error = api([&](Runtime&) { return find_place(handle, place); })) {
    return error;
  }
  return cudaMemAdvise(pointer, count, cudaMemAdviseSetPreferredLocation, location);
}
