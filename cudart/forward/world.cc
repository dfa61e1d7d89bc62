/// The decision between the two runtimes, made once, by the first call of a CUDA function.
#include "cudart/forward/world.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <tenon/cudart/engine.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include "cudart/forward/trampolines.h"

namespace tenon::cudart {
namespace {

constexpr char kName[] = "libcudart.so.13";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Where it may be: what the process has loaded by that name comes first, then the loader's path.
std::vector<std::string> places() {
  if (const std::string path = environment("TENON_CUDART"); !path.empty()) return {path};
  return {kName, std::string("/usr/local/cuda/lib64/") + kName};
}

/// Whether it is this library, or brings it along as the one in our folder `compatible`, which has
/// NVIDIA's name, does.
bool is_ours(void* handle) {
  constexpr char kOnGpu[] = "_ZN5tenon6cudart6on_gpuEv";
  return dlsym(handle, kOnGpu);
}

NvidiaLibrary open_library() {
  NvidiaLibrary library;
  if (environment("TENON_TARGET") == "cpu") {
    library.why_not = "TENON_TARGET is cpu";
    return library;
  }
  for (const std::string& path : places()) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle && !is_ours(handle)) {
      library.handle = handle;
      library.path = path;
      library.why_not.clear();
      return library;
    }
    if (!library.why_not.empty()) continue;
    const char* error = handle ? nullptr : dlerror();
    library.why_not = "NVIDIA's CUDA runtime is not there ("
                      + (error ? std::string(error) : path + " is Tenon's own")
                      + "); TENON_CUDART may name it";
  }
  return library;
}

struct World {
  bool on_gpu = false;
  std::string why_not;
};

/// What the runtime says when the driver does not suit it: also where there is none.
std::string driver_text(const NvidiaLibrary& library, const char* otherwise) {
  const auto driver_version = library.find<cudaError_t(int*)>("cudaDriverGetVersion");
  int version = 0;
  if (!driver_version || driver_version(&version)) return otherwise;
  if (version == 0) return "no NVIDIA driver is installed";
  return std::string(otherwise) + " (the driver is one for CUDA " + std::to_string(version / 1000)
         + "." + std::to_string(version % 1000 / 10) + ")";
}

World decide() {
  const NvidiaLibrary& library = nvidia_library();
  if (!library.handle) return {false, library.why_not};
  const auto count_devices = library.find<cudaError_t(int*)>("cudaGetDeviceCount");
  const auto text = library.find<const char*(cudaError_t)>("cudaGetErrorString");
  if (!count_devices || !text) return {false, library.path + " is no CUDA runtime"};
  int count = 0;
  const cudaError_t error = count_devices(&count);
  if (error == cudaErrorInsufficientDriver) return {false, driver_text(library, text(error))};
  if (error) return {false, "NVIDIA's CUDA runtime says: " + std::string(text(error))};
  if (count == 0) return {false, "NVIDIA's CUDA runtime sees no GPU"};
  return {true, ""};
}

const World& world() {
  static const auto* const world = [] {
    auto* const decided = new World(decide());
    fill_table(decided->on_gpu ? &nvidia_library() : nullptr);
    return decided;
  }();
  return *world;
}

}  // namespace

void* NvidiaLibrary::find_symbol(const char* name) const {
  return dlsym(handle, name);
}

const NvidiaLibrary& nvidia_library() {
  static const auto* const library = new NvidiaLibrary(open_library());
  return *library;
}

bool on_gpu() noexcept {
  return world().on_gpu;
}

const char* why_not_on_gpu() noexcept {
  return world().why_not.c_str();
}

}  // namespace tenon::cudart
