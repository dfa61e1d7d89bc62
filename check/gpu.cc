#include "check/gpu.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include "check/error.h"

namespace tenon::check {
namespace {

bool uses_gpu = false;

using Handle = std::shared_ptr<void>;

// By a library's functions that make a handle and destroy it.
Handle make_handle(const char* library, const char* create, const char* destroy) {
  void* const loaded = uses_gpu ? dlopen(library, RTLD_NOW | RTLD_GLOBAL) : nullptr;
  if (loaded == nullptr) return nullptr;
  const auto create_it = reinterpret_cast<int (*)(void**)>(dlsym(loaded, create));
  const auto destroy_it = reinterpret_cast<int (*)(void*)>(dlsym(loaded, destroy));
  constexpr int kSuccess = 0;  // of both libraries
  void* handle = nullptr;
  if (create_it == nullptr || destroy_it == nullptr || create_it(&handle) != kSuccess)
    return nullptr;
  return {handle, destroy_it};
}

}  // namespace

std::string find_cuda_runtime(const std::string& name) {
  void* library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr)
    fail(ErrorClass::kNoGpu,
         "--device=cuda: CUDA's runtime cannot be loaded: {}; say where it is, as "
         "--cudart=/usr/local/cuda/lib64/libcudart.so.13",
         dlerror());
  link_map* found = nullptr;
  dlinfo(library, RTLD_DI_LINKMAP, &found);
  return std::filesystem::absolute(found->l_name).string();
}

void use_gpu(const std::string& runtime) {
  Dl_info info{};
  void* const function = dlsym(RTLD_DEFAULT, "cudaStreamSynchronize");
  std::error_code error;
  if (function == nullptr || dladdr(function, &info) == 0
      || !std::filesystem::equivalent(info.dli_fname, runtime, error))
    fail(ErrorClass::kNoGpu, "--cudart: {} is no CUDA runtime, or cannot be preloaded", runtime);
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0)
    fail(ErrorClass::kNoGpu, "--device=cuda: {} finds no GPU: {}", runtime,
         cudaGetErrorString(status));
  uses_gpu = true;
}

bool on_gpu() {
  return uses_gpu;
}

Handle make_cudnn_handle() {
  return make_handle("libcudnn.so.9", "cudnnCreate", "cudnnDestroy");
}

Handle make_cublas_handle() {
  return make_handle("libcublas.so.13", "cublasCreate_v2", "cublasDestroy_v2");
}

}  // namespace tenon::check
