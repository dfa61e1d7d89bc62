#include "cuda/quantized_gemm_warpgroups.cuh"

namespace tenon::cuda {

void launch_quantized_gemm_of_warpgroups(const QuantizedGemm& p, cudaStream_t stream) {
  switch (p.tile) {
    case QuantizedGemm::Tile::kWarpgroup128x128:
      return launch_form<int32_t, Form<128, 128, 2, false>>(p, stream);
    case QuantizedGemm::Tile::kWarpgroup128x64:
      return launch_form<int32_t, Form<128, 64, 3, false>>(p, stream);
    case QuantizedGemm::Tile::kWarpgroups192x128:
      return launch_form<int32_t, Form<64, 128, 3, true>>(p, stream);
    default:
      return launch_form<int32_t, Form<64, 64, 3, false>>(p, stream);
  }
}

}  // namespace tenon::cuda
