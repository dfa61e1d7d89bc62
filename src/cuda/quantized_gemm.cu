#include "cuda/quantized_gemm_mma.cuh"

namespace tenon::cuda {
namespace {

template <class Data> void launch(const QuantizedGemm& p, cudaStream_t stream) {
  switch (p.tile) {
    case QuantizedGemm::Tile::k128x128:
      return launch_tile<Data, 128, 128, 2, 2>(p, stream);
    case QuantizedGemm::Tile::k64x64:
      return launch_tile<Data, 64, 64, 4, 1>(p, stream);
    case QuantizedGemm::Tile::k32x64:
      return launch_tile<Data, 32, 64, 2, 1>(p, stream);
    default:
      return launch_tile<Data, 128, 64, 4, 1>(p, stream);
  }
}

}  // namespace

void launch_quantized_gemm(const QuantizedGemm& p, cudaStream_t stream) {
  if (p.is_of_warpgroups()) return launch_quantized_gemm_of_warpgroups(p, stream);
  if (p.tile == QuantizedGemm::Tile::kLines && launch_quantized_gemm_of_lines(p, stream)) return;
  if (p.data_is_signed)
    launch<int8_t>(p, stream);
  else
    launch<uint8_t>(p, stream);
}

}  // namespace tenon::cuda
