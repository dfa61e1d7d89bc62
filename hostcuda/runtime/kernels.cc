/// Kernels by the addresses of their functions: attributes, and launches that know no types.
#include "hostcuda/runtime/kernels.h"

#include <tenon/cudart/engine.h>

#include <optional>

#include "hostcuda/runtime/sanitizers.h"
#include "tenon/hostcuda/report.h"

namespace tenon::hostcuda {
namespace {

/// What the calling thread's next call of a kernel's function is for.
struct Request {
  Call kind = Call::kRecord;
  Kernel* asked = nullptr;
  void* function = nullptr;
  void** arguments = nullptr;
  std::optional<Recorded> recorded;
};

Request& request() {
  thread_local Request request;
  return request;
}

// A kernel's function takes arguments that nobody knows here. What it finds in their place are
// addresses of memory that it may read and write, in registers and on the stack: it looks at none
// of them before it has asked for the kind of the call.
constexpr int kWords = 512;
struct Words {
  void* word[kWords];
};
void call_without_arguments(const void* function) {
  static thread_local char scratch[9][4096];
  Words words;
  for (void*& word : words.word) word = scratch[8];
  using Function = void (*)(void*, void*, void*, void*, void*, void*, void*, void*, Words);
  reinterpret_cast<Function>(const_cast<void*>(function))(scratch[0], scratch[1], scratch[2],
                                                          scratch[3], scratch[4], scratch[5],
                                                          scratch[6], scratch[7], words);
}

Kernel* kernel_of(const void* function) {
  Request& r = request();
  r.kind = Call::kAsk;
  r.asked = nullptr;
  call_without_arguments(function);
  r.kind = Call::kRecord;
  return r.asked;
}

cudaError_t launch_by_address(const void* function, dim3 grid, dim3 block, void** arguments,
                              std::size_t shared_bytes, cudaStream_t stream) {
  Kernel* const kernel = kernel_of(function);
  if (!kernel) return cudaErrorInvalidDeviceFunction;
  Request& r = request();
  r.kind = Call::kUntyped;
  r.function = const_cast<void*>(function);
  r.arguments = arguments;
  call_without_arguments(function);
  r.kind = Call::kRecord;
  if (!r.recorded) {
    report("kernel %s has a parameter without a name, and cannot be launched by its address",
           kernel->name);
    return cudaErrorNotSupported;
  }
  const Recorded body = *r.recorded;
  r.recorded.reset();
  return launch(body, kernel->site, grid, block, shared_bytes, stream);
}

cudaError_t attributes_of(cudaFuncAttributes* attributes, const void* function) {
  const Kernel* const kernel = kernel_of(function);
  if (!kernel) return cudaErrorInvalidDeviceFunction;
  *attributes = {};
  if (has_memory_sanitizer()) __msan_unpoison(attributes, sizeof(*attributes));
  attributes->maxThreadsPerBlock =
      static_cast<int>(kernel->most_threads ? kernel->most_threads : 1024);
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = 80;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(kernel->most_dynamic_bytes);
  attributes->preferredShmemCarveout = -1;
  return cudaSuccess;
}

cudaError_t set_attribute(const void* function, cudaFuncAttribute attribute, int value) {
  Kernel* const kernel = kernel_of(function);
  if (!kernel) return cudaErrorInvalidDeviceFunction;
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaErrorNotSupported;
  int most = 0;
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  if (value < 0 || value > most) return cudaErrorInvalidValue;
  kernel->most_dynamic_bytes = static_cast<std::size_t>(value);
  return cudaSuccess;
}

[[maybe_unused]] const bool is_served = [] {
  cudart::serve_kernels({launch_by_address, attributes_of, set_attribute});
  return true;
}();

}  // namespace

Call call_kind() {
  return request().kind;
}

void answer(Kernel& kernel) {
  request().asked = &kernel;
}

void* untyped_call(void*** arguments) {
  Request& r = request();
  r.kind = Call::kRecord;  // the call that follows has arguments
  *arguments = r.arguments;
  return r.function;
}

void record(const Recorded& recorded) {
  Request& r = request();
  if (r.recorded) r.recorded->destroy(r.recorded->object);  // called without a launch
  r.recorded = recorded;
}

void go(Site site, dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream) {
  Request& r = request();
  if (!r.recorded) {
    cudart::keep_error(cudaErrorInvalidDeviceFunction);
    return;
  }
  const Recorded body = *r.recorded;
  r.recorded.reset();
  launch(body, site, grid, block, shared_bytes, stream);
}

}  // namespace tenon::hostcuda
