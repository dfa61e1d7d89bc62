#include "cuda/convolution/im2col.h"
#include "cuda/divider.cuh"
#include "cuda/elements.cuh"

namespace tenon::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPack = 8;

struct Dividers {
  Divider packs, columns, rows, kernel_columns, kernel_rows;
};

// A thread makes 16 bytes of a row.
__global__ void im2col(Im2colParameters p, Dividers dividers, uint32_t threads) {
  const uint32_t thread = blockIdx.x * kThreads + threadIdx.x;
  if (thread >= threads) return;
  uint32_t position = thread;
  const uint32_t first = dividers.packs.split(position) * kPack;
  uint32_t image = position + static_cast<uint32_t>(p.first);
  const int64_t x = int64_t{dividers.columns.split(image)} * p.stride[1] - p.pre[1];
  const int64_t y = int64_t{dividers.rows.split(image)} * p.stride[0] - p.pre[0];
  const uint16_t* data =
      static_cast<const uint16_t*>(p.data) + image * p.channels * p.in[0] * p.in[1];
  Pack<uint16_t, kPack> pack;
#pragma unroll
  for (int i = 0; i < kPack; ++i) {
    uint32_t channel = first + i;
    const int64_t column = x + int64_t{dividers.kernel_columns.split(channel)} * p.dilation[1];
    const int64_t row = y + int64_t{dividers.kernel_rows.split(channel)} * p.dilation[0];
    const bool is_there =
        channel < p.channels && column >= 0 && column < p.in[1] && row >= 0 && row < p.in[0];
    pack.values[i] = is_there ? data[(channel * p.in[0] + row) * p.in[1] + column] : uint16_t{0};
  }
  *reinterpret_cast<Pack<uint16_t, kPack>*>(static_cast<uint16_t*>(p.rows)
                                            + int64_t{thread} * kPack) = pack;
}

}  // namespace

void launch_im2col(const Im2colParameters& p, cudaStream_t stream) {
  const int64_t packs = p.width / kPack, threads = p.count * packs;
  const Dividers dividers{Divider(packs), Divider(p.out[1]), Divider(p.out[0]),
                          Divider(p.kernel[1]), Divider(p.kernel[0])};
  im2col<<<static_cast<unsigned>((threads + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      p, dividers, static_cast<uint32_t>(threads));
}

}  // namespace tenon::cuda
