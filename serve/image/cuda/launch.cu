// Pre-processing on a GPU.
#include <tenon/kernels/image_sampling.h>
#include <tenon/kernels/l2_rows.h>

#include "launch.h"

namespace tenon::serve {

cudaError_t launch_samplings(const void* samplings, int64_t count, cudaStream_t stream) noexcept {
  static_assert(sizeof(kernels::ImageSampling) == kSamplingBytes);
  const kit::Device device{nullptr, stream};
  kernels::sample_pixels(device, static_cast<const kernels::ImageSampling*>(samplings), count);
  return cudaGetLastError();
}

cudaError_t launch_l2_rows(void* rows, bool is_half, int64_t count, int64_t width,
                           cudaStream_t stream) noexcept {
  const kit::Device device{nullptr, stream};
  if (is_half)
    kernels::l2_rows(device, static_cast<kit::Half*>(rows), count, width);
  else
    kernels::l2_rows(device, static_cast<float*>(rows), count, width);
  return cudaGetLastError();
}

}  // namespace tenon::serve
