/// The API of devices: there is one, this machine.
#include <cuda_profiler_api.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "cudart/memory.h"
#include "cudart/runtime.h"

namespace tenon::cudart {
namespace {

/// The features of compute capability 8.0 are what the CPU target has: FP16, BF16, TF32, INT8.
constexpr int kMajor = 8;
constexpr int kMinor = 0;
constexpr char kBusId[] = "0000:00:00.0";
constexpr std::size_t kLimitCount = cudaLimitPersistingL2CacheSize + 1;

std::atomic<unsigned> device_flags{cudaDeviceScheduleAuto};
std::atomic<int> cache_config{cudaFuncCachePreferNone};
std::array<std::atomic<std::size_t>, kLimitCount> limits{1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};

int processors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

cudaDeviceProp properties() {
  cudaDeviceProp prop;
  std::memset(&prop, 0, sizeof prop);
  std::snprintf(prop.name, sizeof prop.name, "Tenon host CPU");
  std::snprintf(prop.uuid.bytes, sizeof prop.uuid.bytes, "tenon-host-cpu");
  prop.totalGlobalMem = machine_memory().total;
  prop.sharedMemPerBlock = 48 << 10;
  prop.sharedMemPerBlockOptin = 163 << 10;
  prop.sharedMemPerMultiprocessor = 164 << 10;
  prop.regsPerBlock = 65536;
  prop.regsPerMultiprocessor = 65536;
  prop.warpSize = 32;
  prop.memPitch = 0x7fffffff;
  prop.maxThreadsPerBlock = 1024;
  prop.maxThreadsPerMultiProcessor = 1024;
  prop.maxBlocksPerMultiProcessor = 16;
  std::copy_n(std::array{1024, 1024, 64}.begin(), 3, prop.maxThreadsDim);
  std::copy_n(std::array{0x7fffffff, 65535, 65535}.begin(), 3, prop.maxGridSize);
  prop.totalConstMem = 64 << 10;
  prop.major = kMajor;
  prop.minor = kMinor;
  prop.textureAlignment = 512;
  prop.texturePitchAlignment = 32;
  prop.surfaceAlignment = 512;
  prop.multiProcessorCount = processors();
  prop.integrated = 1;
  prop.canMapHostMemory = 1;
  prop.concurrentKernels = 1;
  prop.asyncEngineCount = 1;
  prop.unifiedAddressing = 1;
  prop.managedMemory = 1;
  prop.concurrentManagedAccess = 1;
  prop.pageableMemoryAccess = 1;
  prop.pageableMemoryAccessUsesHostPageTables = 1;
  prop.directManagedMemAccessFromHost = 1;
  prop.hostNativeAtomicSupported = 1;
  prop.canUseHostPointerForRegisteredMem = 1;
  prop.hostRegisterSupported = 1;
  prop.streamPrioritiesSupported = 1;
  prop.memoryPoolsSupported = 1;
  prop.deviceNumaId = -1;
  prop.hostNumaId = -1;
  return prop;
}

/// An attribute that is a field of the properties.
template <class Field> struct Row {
  cudaDeviceAttr attribute;
  Field cudaDeviceProp::* field;
};

constexpr Row<int> kIntegers[] = {
    {cudaDevAttrMaxThreadsPerBlock, &cudaDeviceProp::maxThreadsPerBlock},
    {cudaDevAttrWarpSize, &cudaDeviceProp::warpSize},
    {cudaDevAttrMaxRegistersPerBlock, &cudaDeviceProp::regsPerBlock},
    {cudaDevAttrMaxRegistersPerMultiprocessor, &cudaDeviceProp::regsPerMultiprocessor},
    {cudaDevAttrMultiProcessorCount, &cudaDeviceProp::multiProcessorCount},
    {cudaDevAttrIntegrated, &cudaDeviceProp::integrated},
    {cudaDevAttrCanMapHostMemory, &cudaDeviceProp::canMapHostMemory},
    {cudaDevAttrConcurrentKernels, &cudaDeviceProp::concurrentKernels},
    {cudaDevAttrAsyncEngineCount, &cudaDeviceProp::asyncEngineCount},
    {cudaDevAttrUnifiedAddressing, &cudaDeviceProp::unifiedAddressing},
    {cudaDevAttrManagedMemory, &cudaDeviceProp::managedMemory},
    {cudaDevAttrConcurrentManagedAccess, &cudaDeviceProp::concurrentManagedAccess},
    {cudaDevAttrPageableMemoryAccess, &cudaDeviceProp::pageableMemoryAccess},
    {cudaDevAttrPageableMemoryAccessUsesHostPageTables,
     &cudaDeviceProp::pageableMemoryAccessUsesHostPageTables},
    {cudaDevAttrDirectManagedMemAccessFromHost, &cudaDeviceProp::directManagedMemAccessFromHost},
    {cudaDevAttrHostNativeAtomicSupported, &cudaDeviceProp::hostNativeAtomicSupported},
    {cudaDevAttrCanUseHostPointerForRegisteredMem,
     &cudaDeviceProp::canUseHostPointerForRegisteredMem},
    {cudaDevAttrHostRegisterSupported, &cudaDeviceProp::hostRegisterSupported},
    {cudaDevAttrStreamPrioritiesSupported, &cudaDeviceProp::streamPrioritiesSupported},
    {cudaDevAttrMemoryPoolsSupported, &cudaDeviceProp::memoryPoolsSupported},
    {cudaDevAttrMaxThreadsPerMultiProcessor, &cudaDeviceProp::maxThreadsPerMultiProcessor},
    {cudaDevAttrMaxBlocksPerMultiprocessor, &cudaDeviceProp::maxBlocksPerMultiProcessor},
    {cudaDevAttrComputeCapabilityMajor, &cudaDeviceProp::major},
    {cudaDevAttrComputeCapabilityMinor, &cudaDeviceProp::minor},
    {cudaDevAttrNumaId, &cudaDeviceProp::deviceNumaId},
    {cudaDevAttrHostNumaId, &cudaDeviceProp::hostNumaId},
};

constexpr Row<std::size_t> kSizes[] = {
    {cudaDevAttrMaxSharedMemoryPerBlock, &cudaDeviceProp::sharedMemPerBlock},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, &cudaDeviceProp::sharedMemPerBlockOptin},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, &cudaDeviceProp::sharedMemPerMultiprocessor},
    {cudaDevAttrTotalConstantMemory, &cudaDeviceProp::totalConstMem},
    {cudaDevAttrMaxPitch, &cudaDeviceProp::memPitch},
    {cudaDevAttrTextureAlignment, &cudaDeviceProp::textureAlignment},
    {cudaDevAttrTexturePitchAlignment, &cudaDeviceProp::texturePitchAlignment},
    {cudaDevAttrSurfaceAlignment, &cudaDeviceProp::surfaceAlignment},
};

int attribute(const cudaDeviceProp& prop, cudaDeviceAttr wanted) {
  for (const auto& row : kIntegers) {
    if (row.attribute == wanted) return prop.*row.field;
  }
  for (const auto& row : kSizes) {
    if (row.attribute == wanted) return static_cast<int>(prop.*row.field);
  }
  const int dimension = wanted - cudaDevAttrMaxBlockDimX;
  if (dimension >= 0 && dimension < 3) return prop.maxThreadsDim[dimension];
  if (dimension >= 3 && dimension < 6) return prop.maxGridSize[dimension - 3];
  // What this machine lacks (textures, clusters, ...) is 0.
  return 0;
}

cudaError_t check_device(int device) {
  return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

/// Writes a value through a pointer that an application gave.
template <class T, class Value> cudaError_t give(T* out, Value value) {
  if (!out) return cudaErrorInvalidValue;
  write_out(out, static_cast<T>(value));
  return cudaSuccess;
}

}  // namespace
}  // namespace tenon::cudart

using namespace tenon::cudart;

cudaError_t cudaDriverGetVersion(int* version) {
  return note(give(version, CUDART_VERSION));
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  return note(give(version, CUDART_VERSION));
}

cudaError_t cudaGetDeviceCount(int* count) {
  return api([&](Runtime&) { return give(count, 1); });
}

cudaError_t cudaGetDevice(int* device) {
  return api([&](Runtime&) { return give(device, 0); });
}

cudaError_t cudaSetDevice(int device) {
  return api([&](Runtime&) { return check_device(device); });
}

cudaError_t cudaInitDevice(int device, unsigned int, unsigned int) {
  return cudaSetDevice(device);
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* prop) {
  return api([&](Runtime&) { return prop ? give(device, 0) : cudaErrorInvalidValue; });
}

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  return api([&](Runtime&) {
    if (flags & ~cudaDeviceMask) return cudaErrorInvalidValue;
    device_flags.store(flags);
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  return api([&](Runtime&) { return give(flags, device_flags.load()); });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
  return api([&](Runtime&) {
    if (!prop) return cudaErrorInvalidValue;
    if (const cudaError_t error = check_device(device)) return error;
    write_out(prop, properties());
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device) {
  return api([&](Runtime&) {
    if (!value || attr < cudaDevAttrMaxThreadsPerBlock || attr >= cudaDevAttrMax) {
      return cudaErrorInvalidValue;
    }
    if (const cudaError_t error = check_device(device)) return error;
    static const cudaDeviceProp prop = properties();
    return give(value, attribute(prop, attr));
  });
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return api([&](Runtime&) {
    if (static_cast<std::size_t>(limit) >= kLimitCount) return cudaErrorInvalidValue;
    return give(value, limits[limit].load());
  });
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return api([&](Runtime&) {
    if (static_cast<std::size_t>(limit) >= kLimitCount) return cudaErrorInvalidValue;
    limits[limit].store(value);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return api([&](Runtime&) { return give(config, cache_config.load()); });
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
  return api([&](Runtime&) {
    cache_config.store(config);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return api([&](Runtime&) {
    if (least) write_out(least, kLeastPriority);
    if (greatest) write_out(greatest, kGreatestPriority);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* bus_id, int length, int device) {
  return api([&](Runtime&) {
    if (!bus_id || length < static_cast<int>(sizeof kBusId)) return cudaErrorInvalidValue;
    if (const cudaError_t error = check_device(device)) return error;
    std::memcpy(bus_id, kBusId, sizeof kBusId);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* bus_id) {
  return api([&](Runtime&) {
    if (!bus_id || std::strcmp(bus_id, kBusId) != 0) return cudaErrorInvalidValue;
    return give(device, 0);
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can_access, int device, int peer) {
  return api([&](Runtime&) {
    if (check_device(device) || check_device(peer)) return cudaErrorInvalidDevice;
    return give(can_access, 0);
  });
}

cudaError_t cudaDeviceSynchronize() {
  return api([](Runtime& all) {
    if (thread_context().inline_stream) return cudaErrorNotPermitted;
    if (const cudaError_t error = all.captures.check_device_synchronisation()) return error;
    wait_for_all();
    cudaError_t first = cudaSuccess;
    all.streams.for_each([&](Stream& stream) {
      const cudaError_t error = stream.take_error();
      if (!first) first = error;
    });
    return first;
  });
}

cudaError_t cudaDeviceReset() {
  return api([](Runtime& all) {
    if (thread_context().inline_stream) return cudaErrorNotPermitted;
    if (const cudaError_t error = all.captures.check_device_synchronisation()) return error;
    wait_for_all();
    all.streams.for_each([&](Stream& stream) {
      stream.take_error();
      if (&stream != all.legacy) destroy_stream(stream.handle());
    });
    memory_registry().release_all();
    thread_context().last_error = cudaSuccess;
    return cudaSuccess;
  });
}

cudaError_t cudaProfilerStart() {
  return cudaSuccess;
}
cudaError_t cudaProfilerStop() {
  return cudaSuccess;
}
