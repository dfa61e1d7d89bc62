// Stands for CUDA's part in builds without it.
#include "launch.h"

namespace tenon::serve {

cudaError_t launch_samplings(const void*, int64_t, cudaStream_t) noexcept {
  return cudaErrorNotSupported;
}

cudaError_t launch_l2_rows(void*, bool, int64_t, int64_t, cudaStream_t) noexcept {
  return cudaErrorNotSupported;
}

}  // namespace tenon::serve
