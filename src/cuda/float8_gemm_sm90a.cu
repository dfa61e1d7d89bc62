#include "cuda/quantized_gemm_warpgroups.cuh"

namespace tenon::cuda {

void launch_float8_gemm_of_warpgroups(const QuantizedGemm& p, cudaStream_t stream) {
  if (p.tile == QuantizedGemm::Tile::kWarpgroups192x128)
    launch_form<float, Form<64, 128, 3, true>>(p, stream);
  else
    launch_form<float, Form<64, 64, 3, false>>(p, stream);
}

}  // namespace tenon::cuda
