// A CUDA runtime, to be preloaded before ours, in which a kernel does what a wrong access does on a
// GPU: from then on the process gets the same error from every call that waits.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <atomic>

namespace {

std::atomic<bool> is_lost{false};

template <class... Args> cudaError_t unless_lost(const char* name, Args... args) {
  if (is_lost) return cudaErrorIllegalAddress;
  return reinterpret_cast<cudaError_t (*)(Args...)>(dlsym(RTLD_NEXT, name))(args...);
}

}  // namespace

#pragma GCC visibility push(default)
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) {
  is_lost = true;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return unless_lost("cudaStreamSynchronize", stream);
}
cudaError_t cudaDeviceSynchronize() {
  return unless_lost("cudaDeviceSynchronize");
}
#pragma GCC visibility pop
