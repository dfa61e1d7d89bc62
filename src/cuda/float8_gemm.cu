#include "cuda/quantized_gemm_mma.cuh"

namespace tenon::cuda {

void launch_float8_gemm(const QuantizedGemm& p, cudaStream_t stream) {
  if (p.is_of_warpgroups()) return launch_float8_gemm_of_warpgroups(p, stream);
  if (p.tile == QuantizedGemm::Tile::k128x128)
    launch_tile<__nv_fp8_e4m3, 128, 128, 2, 2>(p, stream);
  else
    launch_tile<__nv_fp8_e4m3, 64, 64, 4, 1>(p, stream);
}

}  // namespace tenon::cuda
