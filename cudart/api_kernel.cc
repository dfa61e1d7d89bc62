/// Kernels: those compiled for the host run. Libraries with device code can be loaded, but
/// launching it is refused.
#include <cxxabi.h>
#include <tenon/cudart/engine.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <shared_mutex>
#include <string>
#include <vector>

#include "cudart/notice.h"
#include "cudart/runtime.h"

namespace tenon::cudart {
namespace {

/// A program's device code: which kernels came with it.
struct Module {
  std::vector<const void*> kernels;
};

struct Kernels {
  std::shared_mutex mutex;
  /// From the address that stands for a kernel on the host to its mangled name.
  std::map<const void*, std::string> names;
};

Kernels& kernels() {
  static auto* const kernels = new Kernels;
  return *kernels;
}

struct CallConfiguration {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes;
  cudaStream_t stream;
};

std::vector<CallConfiguration>& configurations() {
  thread_local std::vector<CallConfiguration> stack;
  return stack;
}

std::string& refused() {
  thread_local std::string name;
  return name;
}

std::string demangle(const std::string& mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && text ? text : mangled;
  std::free(text);
  return result;
}

/// The answer to every use of a kernel.
cudaError_t refuse(const void* function, const char* what) {
  return api([&](Runtime&) {
    if (!function) return cudaErrorInvalidDeviceFunction;
    std::string name = "a kernel of unknown name";
    {
      const std::shared_lock lock(kernels().mutex);
      const auto found = kernels().names.find(function);
      if (found != kernels().names.end()) name = demangle(found->second);
    }
    refused() = name;
    say_once(name, what);
    return cudaErrorNoKernelImageForDevice;
  });
}

constexpr char kNotLaunched[] =
    "was not launched: it is CUDA device code and there is no GPU here. Give the plugin a CPU "
    "implementation, or run on a machine with a GPU";
constexpr char kNotKnown[] =
    "has no attributes: it is CUDA device code and there is no GPU here. Give the plugin a CPU "
    "implementation, or run on a machine with a GPU";

HostKernels& host_kernels() {
  static HostKernels kernels{};
  return kernels;
}

bool is_host_kernel(const void* function) {
  if (!function || !host_kernels().launch) return false;
  const std::shared_lock lock(kernels().mutex);
  return !kernels().names.contains(function);
}

cudaError_t launch(const void* function, dim3 grid, dim3 block, void** arguments,
                   size_t shared_bytes, cudaStream_t stream) {
  if (!is_host_kernel(function)) return refuse(function, kNotLaunched);
  return api([&](Runtime&) {
    return host_kernels().launch(function, grid, block, arguments, shared_bytes, stream);
  });
}

cudaError_t attributes_of(cudaFuncAttributes* attributes, const void* function) {
  if (!is_host_kernel(function)) return refuse(function, kNotKnown);
  return api([&](Runtime&) {
    return attributes ? host_kernels().attributes(attributes, function) : cudaErrorInvalidValue;
  });
}

// As many blocks as the threads and the shared memory of a multiprocessor allow.
cudaError_t most_blocks(int* blocks, const void* function, int block_size, size_t shared_bytes) {
  cudaFuncAttributes attributes;
  if (const cudaError_t error = attributes_of(&attributes, function)) return error;
  if (!blocks || block_size <= 0) return note(cudaErrorInvalidValue);
  int threads = 0, memory = 0, most = 0;
  cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0);
  cudaDeviceGetAttribute(&memory, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0);
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxBlocksPerMultiprocessor, 0);
  int fitting =
      block_size > attributes.maxThreadsPerBlock ? 0 : std::min(most, threads / block_size);
  if (shared_bytes > 0)
    fitting =
        static_cast<int>(std::min<size_t>(fitting, static_cast<size_t>(memory) / shared_bytes));
  write_out(blocks, fitting);
  return cudaSuccess;
}

}  // namespace

void serve_kernels(const HostKernels& kernels) noexcept {
  host_kernels() = kernels;
}

const char* refused_kernel() noexcept {
  return refused().c_str();
}

void forget_refused_kernel() noexcept {
  refused().clear();
}

}  // namespace tenon::cudart

using namespace tenon::cudart;

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes, cudaStream_t stream) {
  return launch(function, grid, block, arguments, shared_bytes, stream);
}

// Blocks of the host's kernels do not wait for one another.
cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3, dim3, void**, size_t,
                                        cudaStream_t) {
  return is_host_kernel(function) ? note(cudaErrorNotSupported) : refuse(function, kNotLaunched);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return attributes_of(attributes, function);
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  if (!is_host_kernel(function)) return refuse(function, kNotKnown);
  return api([&](Runtime&) { return host_kernels().set_attribute(function, attribute, value); });
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
  return is_host_kernel(function) ? cudaSuccess : refuse(function, kNotKnown);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                          int block_size, size_t shared_bytes) {
  return most_blocks(blocks, function, block_size, shared_bytes);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int block_size, size_t shared_bytes, unsigned int) {
  return most_blocks(blocks, function, block_size, shared_bytes);
}

// What nvcc makes programs call. A kernel's handle is the address that stands for it on the host.
extern "C" {
void** __cudaRegisterFatBinary(void*) {
  return reinterpret_cast<void**>(new Module);
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** handle) {
  auto* module = reinterpret_cast<Module*>(handle);
  if (!module || process_was_forked()) return;
  {
    const std::unique_lock lock(kernels().mutex);
    for (const void* kernel : module->kernels) kernels().names.erase(kernel);
  }
  delete module;
}

void __cudaRegisterFunction(void** handle, const char* host_function, char*, const char* name, int,
                            uint3*, uint3*, dim3*, dim3*, int*) {
  auto* module = reinterpret_cast<Module*>(handle);
  if (!module || !name) return;
  const std::unique_lock lock(kernels().mutex);
  module->kernels.push_back(host_function);
  kernels().names[host_function] = name;
}

void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, size_t, int, int) {}
void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}
void __cudaRegisterUnifiedTable(void**, void*) {}
char __cudaInitModule(void**) {
  return 1;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  if (!kernel) return note(cudaErrorInvalidValue);
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3, dim3, void**, size_t, cudaStream_t) {
  return refuse(kernel, kNotLaunched);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3, dim3, void**, size_t, cudaStream_t) {
  return refuse(kernel, kNotLaunched);
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                     cudaStream_t stream) {
  configurations().push_back({grid, block, shared_bytes, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes,
                                       void* stream) {
  auto& stack = configurations();
  if (stack.empty()) return note(cudaErrorMissingConfiguration);
  const CallConfiguration top = stack.back();
  stack.pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* configuration, const void* function,
                                void** arguments) {
  if (!configuration) return note(cudaErrorInvalidValue);
  const cudaLaunchConfig_t& c = *configuration;
  return launch(function, c.gridDim, c.blockDim, arguments, c.dynamicSmemBytes, c.stream);
}

cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t* configuration, const void* function,
                                     void** arguments) {
  return cudaLaunchKernelExC(configuration, function, arguments);
}

cudaError_t cudaLaunchKernel_ptsz(const void* function, dim3 grid, dim3 block, void** arguments,
                                  size_t shared_bytes, cudaStream_t stream) {
  return launch(function, grid, block, arguments, shared_bytes,
                stream ? stream : cudaStreamPerThread);
}

cudaError_t cudaLaunchCooperativeKernel_ptsz(const void* function, dim3 grid, dim3 block,
                                             void** arguments, size_t shared_bytes,
                                             cudaStream_t stream) {
  return cudaLaunchCooperativeKernel(function, grid, block, arguments, shared_bytes, stream);
}
}

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                            cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}
