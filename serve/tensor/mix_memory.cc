#include "tenon/serve/mix_memory.h"

#include <cstring>
#include <string>
#include <utility>

namespace tenon::serve {
namespace {

int resolved(int device) {
  if (device != kCurrentDevice) return device;
  return cudaGetDevice(&device) == cudaSuccess ? device : 0;
}

cudaError_t allocate_device(void** data, size_t bytes) {
  return cudaMalloc(data, bytes);
}

cudaError_t allocate_pinned(void** data, size_t bytes) {
  return cudaMallocHost(data, bytes);
}

// The caller knows, and others would take it for an error of theirs.
std::string name_of(cudaError_t status) {
  cudaGetLastError();
  return cudaGetErrorString(status);
}

}  // namespace

AutoDevice::AutoDevice(int device) noexcept {
  if (device == kCurrentDevice) return;
  int current = 0;
  status_ = cudaGetDevice(&current);
  if (status_ == cudaSuccess && current != device) {
    status_ = cudaSetDevice(device);
    if (status_ == cudaSuccess) before_ = current;
  }
  if (status_ != cudaSuccess)
    cudaGetLastError();  // status() has it, and others would take it for theirs
}

AutoDevice::~AutoDevice() {
  if (before_ != kCurrentDevice) cudaSetDevice(before_);
}

MixMemory::MixMemory(int device) noexcept : device_(resolved(device)) {}

MixMemory::MixMemory(void* cpu, size_t cpu_size, void* gpu, size_t gpu_size, int device) noexcept
    : device_(resolved(device)) {
  reference_data(cpu, cpu_size, gpu, gpu_size, device);
}

MixMemory::~MixMemory() {
  release_all();
}

Result<void*> MixMemory::grown(Block& block, size_t bytes, const char* kind, Allocate allocate,
                               Free free, bool on_host) noexcept {
  try {
    const auto size = [](size_t n) { return std::to_string(n) + " bytes"; };
    if (block.data != nullptr && bytes <= block.size) return block.data;
    if (!block.is_own)
      return Error{std::string(kind) + " that the caller gave has " + size(block.size) + ", and "
                   + size(bytes) + " are needed"};
    const AutoDevice device(device_);
    if (device.status() != cudaSuccess)
      return Error{"device " + std::to_string(device_) + ": "
                   + cudaGetErrorString(device.status())};
    void* data = nullptr;
    const size_t wanted = bytes == 0 ? 1 : bytes;
    cudaError_t status = allocate(&data, wanted);
    if (status == cudaSuccess && !on_host) {
      status = cudaMemset(data, 0, wanted);
      // Streams that do not wait for the default one may be the first to use it.
      if (status == cudaSuccess) status = cudaStreamSynchronize(nullptr);
      if (status != cudaSuccess) free(data);
    }
    if (status != cudaSuccess)
      return Error{std::string(kind) + " of " + size(bytes) + " on device "
                   + std::to_string(device_) + ": " + name_of(status)};
    if (on_host) std::memset(data, 0, wanted);
    if (block.data != nullptr) free(block.data);
    block = {data, wanted, true};
    return data;
  } catch (const std::bad_alloc&) {  // of a message
    return Error{"out of memory"};
  }
}

Result<void*> MixMemory::cpu(size_t bytes) noexcept {
  return grown(cpu_, bytes, "memory of the host", allocate_pinned, cudaFreeHost, true);
}

Result<void*> MixMemory::gpu(size_t bytes) noexcept {
  return grown(gpu_, bytes, "memory of the GPU", allocate_device, cudaFree, false);
}

void MixMemory::release_cpu() noexcept {
  const AutoDevice device(device_);
  if (cpu_.is_own && cpu_.data != nullptr) cudaFreeHost(cpu_.data);
  cpu_ = {};
}

void MixMemory::release_gpu() noexcept {
  const AutoDevice device(device_);
  if (gpu_.is_own && gpu_.data != nullptr) cudaFree(gpu_.data);
  gpu_ = {};
}

void MixMemory::reference_data(void* cpu, size_t cpu_size, void* gpu, size_t gpu_size,
                               int device) noexcept {
  release_all();
  device_ = resolved(device);
  if (cpu != nullptr && cpu_size > 0) cpu_ = {cpu, cpu_size, false};
  if (gpu != nullptr && gpu_size > 0) gpu_ = {gpu, gpu_size, false};
}

}  // namespace tenon::serve
