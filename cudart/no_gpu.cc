/// Builds without the CUDA target: there is the host's runtime alone.
#include <tenon/cudart/engine.h>

#include "cudart/gpu.h"

namespace tenon::cudart {

bool on_gpu() noexcept {
  return false;
}

const char* why_not_on_gpu() noexcept {
  return "this build has no CUDA target (configure it with -DTENON_CUDA=ON)";
}

cudaError_t launch_on_gpu(cudaStream_t, void (*)(void*), void*, void (*)(void*)) noexcept {
  return cudaErrorNotSupported;
}

}  // namespace tenon::cudart
