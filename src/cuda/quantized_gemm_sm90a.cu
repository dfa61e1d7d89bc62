#include "cuda/quantized_gemm_warpgroups.cuh"

namespace tenon::cuda {

void launch_quantized_gemm_of_warpgroups(const QuantizedGemm& p, cudaStream_t stream) {
  launch_of_warpgroups<int32_t>(p, stream);
}

}  // namespace tenon::cuda
