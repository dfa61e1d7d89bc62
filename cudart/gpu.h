/// What the engine's entries do where the process has a GPU. Builds without the CUDA target have
/// no_gpu.cc, which is never there; the others have forward/.
#pragma once

#include <cuda_runtime_api.h>

namespace tenon::cudart {

/// As `enqueue`, through NVIDIA's runtime. @pre on_gpu().
cudaError_t launch_on_gpu(cudaStream_t stream, void (*run)(void*), void* data,
                          void (*release)(void*)) noexcept;

}  // namespace tenon::cudart
