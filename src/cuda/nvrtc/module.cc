#include "cuda/nvrtc/module.h"

#include <xxhash.h>

#include <map>
#include <mutex>

#include "cuda/check.h"

namespace tenon::cuda {

std::string device_architecture() {
  int device = 0, major = 0, minor = 0;
  check(cudaGetDevice(&device), "asking for the current device");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
        "asking for the compute capability");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
        "asking for the compute capability");
  return fmt::format("sm_{}{}", major, minor);
}

Module::Module(const Tensor& cubin) {
  check(cudaLibraryLoadData(&library_, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        "loading generated machine code");
}

Module::~Module() {
  // While the process ends the driver may be gone; then there is nothing left to unload.
  static_cast<void>(cudaLibraryUnload(library_));
}

std::shared_ptr<const Module> Module::load(const Tensor& cubin) {
  static std::mutex mutex;
  static auto& modules = *new std::map<uint64_t, std::weak_ptr<const Module>>;
  const uint64_t key = XXH3_64bits(cubin.data(), cubin.bytes());
  const std::lock_guard lock(mutex);
  if (auto known = modules[key].lock()) return known;
  const std::shared_ptr<const Module> module(new Module(cubin));
  modules[key] = module;
  return module;
}

const void* Module::kernel(const char* name) const {
  cudaKernel_t kernel = nullptr;
  check(cudaLibraryGetKernel(&kernel, library_, name), name);
  const void* handle = reinterpret_cast<const void*>(kernel);
  // Asking for anything loads it. Where that is refused, the first launch does.
  cudaFuncAttributes attributes;
  if (cudaFuncGetAttributes(&attributes, handle) != cudaSuccess)
    static_cast<void>(cudaGetLastError());
  return handle;
}

void launch(const void* kernel, dim3 blocks, unsigned threads, void** arguments,
            cudaStream_t stream) {
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = blocks;
  configuration.blockDim = dim3(threads);
  configuration.stream = stream;
  check(cudaLaunchKernelExC(&configuration, kernel, arguments), "a launch of a generated kernel");
}

}  // namespace tenon::cuda
