#include "check/gpu.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include "error.h"

namespace tenon::tool::check {
namespace {

bool uses_gpu = false;

// A library and its function that makes a handle.
void* make_handle(const char* library, const char* create) {
  void* const loaded = uses_gpu ? dlopen(library, RTLD_NOW | RTLD_GLOBAL) : nullptr;
  void* const function = loaded == nullptr ? nullptr : dlsym(loaded, create);
  void* handle = nullptr;
  constexpr int kSuccess = 0;  // in both
  if (function == nullptr || reinterpret_cast<int (*)(void**)>(function)(&handle) != kSuccess)
    return nullptr;
  return handle;
}

}  // namespace

std::string find_cuda_runtime(const std::string& name) {
  void* library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr)
    fail(
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
    fail("--cudart: {} is no CUDA runtime, or cannot be preloaded", runtime);
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0)
    fail("--device=cuda: {} finds no GPU: {}", runtime, cudaGetErrorString(status));
  uses_gpu = true;
}

bool on_gpu() {
  return uses_gpu;
}

void* cudnn_handle() {
  static void* const handle = make_handle("libcudnn.so.9", "cudnnCreate");
  return handle;
}

void* cublas_handle() {
  static void* const handle = make_handle("libcublas.so.13", "cublasCreate_v2");
  return handle;
}

}  // namespace tenon::tool::check
