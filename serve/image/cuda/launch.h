// What pre-processing does on a GPU, in builds that have CUDA.
#ifndef TENON_SERVE_IMAGE_CUDA_LAUNCH_H
#define TENON_SERVE_IMAGE_CUDA_LAUNCH_H

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace tenon::serve {

/// Bytes of a kernels::ImageSampling: the compilers for the host and for CUDA have a type each, of
/// plain data that lies alike.
inline constexpr size_t kSamplingBytes = 344;

/// Fills targets on the current device, in the stream's order; `samplings` is copied.
/// @return what CUDA says of the launches; cudaErrorNotSupported in builds without CUDA.
cudaError_t launch_samplings(const void* samplings, int64_t count, cudaStream_t stream) noexcept;
/// Rows of floats, or of half precision, brought to length 1.
cudaError_t launch_l2_rows(void* rows, bool is_half, int64_t count, int64_t width,
                           cudaStream_t stream) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_IMAGE_CUDA_LAUNCH_H
