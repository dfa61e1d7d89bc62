#include "cuda/quantized_gemm_warpgroups.cuh"

namespace tenon::cuda {

void launch_float8_gemm_of_warpgroups(const QuantizedGemm& p, cudaStream_t stream) {
  launch_of_warpgroups<float>(p, stream);
}

}  // namespace tenon::cuda
