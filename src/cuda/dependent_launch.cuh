// Programmatic dependent launch: from compute capability 9.0 on, blocks of a kernel are made ready
// while the kernel before it in the stream still runs.
#pragma once

#include <cuda_runtime.h>

#include "cuda/capability.h"

namespace tenon::cuda {

/// What a kernel that is launched so does first, all threads of it: what earlier kernels wrote may
/// be read, and what they read written, after it.
__device__ inline void wait_for_earlier_kernels() {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "griddepcontrol.wait;"
      "griddepcontrol.launch_dependents;" ::
          : "memory");
#endif
}

/// Whether the current GPU runs code in which a kernel waits so.
template <class Kernel> bool waits_for_earlier_kernels(Kernel* kernel) {
  constexpr int kHopper = 9;
  // All kernels of those parameters are compiled for the same architectures.
  static const bool has_wait = [&] {
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess
           && attributes.ptxVersion >= kHopper * 10;
  }();
  return has_wait && has_capability(kHopper);
}

/// Puts a kernel that waits so into the stream.
template <class... Parameters, class... Arguments>
void launch_dependent(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, size_t shared_bytes,
                      cudaStream_t stream, const Arguments&... arguments) {
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = waits_for_earlier_kernels(kernel) ? 1 : 0;
  cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

}  // namespace tenon::cuda
