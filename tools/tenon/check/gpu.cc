#include "check/gpu.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include "error.h"

namespace tenon::tool::check {
namespace {

bool uses_gpu = false;

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

}  // namespace tenon::tool::check
