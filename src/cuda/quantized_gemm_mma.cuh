// The products by mma.sync.
#pragma once

#include "cuda/quantized_gemm.cuh"

namespace tenon::cuda {
namespace {

constexpr int kDepth = 64;  // bytes of a row that are multiplied at a time
constexpr int kStages = 4;  // tiles that are there or on their way

// Rows of the weights of a tile, as DataLoader has the data's.
template <int kRows, int kThreads>
__device__ void load_weights(const QuantizedGemm& p, int first, int at, uint8_t* tile) {
  constexpr int kChunks = kDepth / kChunk;
  const int chunk = static_cast<int>(threadIdx.x) % kChunks;
  const int padded = static_cast<int>(QuantizedGemm::padded(p.output_channels));
  const int in_slice = at % QuantizedGemm::kDepth / kChunk + chunk;
  const auto* slice = static_cast<const uint8_t*>(p.weights)
                      + int64_t{at / QuantizedGemm::kDepth} * padded * QuantizedGemm::kDepth;
#pragma unroll
  for (int row = static_cast<int>(threadIdx.x) / kChunks; row < kRows; row += kThreads / kChunks)
    copy_16(tile + swizzled<kDepth>(row, chunk),
            slice + swizzled<QuantizedGemm::kDepth>(min(first + row, padded - 1), in_slice), true);
}

// Blocks that share rows of the data follow each other, so that these are read from memory once.
// The warps of a block stand in a grid of kDown x kAcross.
template <class Data, int kRows, int kColumns, int kDown, int kAcross, bool kAlongLines>
__global__ void __launch_bounds__(kDown* kAcross * 32)
    multiply(QuantizedGemm p, Dividers dividers, int64_t rows, unsigned column_tiles) {
#if __CUDA_ARCH__ >= 800  // older GPUs lack the instructions, and it is not launched there
  using Sum = SumOf<Data>;
  using Weights = std::conditional_t<std::is_same_v<Sum, float>, Data, int8_t>;
  constexpr int kThreads = kDown * kAcross * 32;
  constexpr int kWarpRows = kRows / kDown, kWarpColumns = kColumns / kAcross;
  constexpr int kRowBlocks = kWarpRows / 16, kGroups = kWarpColumns / kGroup;
  constexpr int kStageBytes = (kRows + kColumns) * kDepth;
  extern __shared__ __align__(128) uint8_t shared[];
  __shared__ __align__(16) ChannelTable<kColumns> table;
  const int64_t first_row = int64_t{blockIdx.x / column_tiles} * kRows;
  const int first_column = static_cast<int>(blockIdx.x % column_tiles) * kColumns;
  const int steps = (p.depth() + kDepth - 1) / kDepth;
  DataLoader<kRows, kThreads, kDepth, kAlongLines> data(p, dividers, first_row, rows);
  const auto load_step = [&](int step) {
    if (step < steps) {
      uint8_t* stage = shared + step % kStages * kStageBytes;
      data.load(stage);
      load_weights<kColumns, kThreads>(p, first_column, step * kDepth, stage + kRows * kDepth);
    }
    end_group();
  };

  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp / kAcross * kWarpRows, warp_column = warp % kAcross * kWarpColumns;
  const int matrix = lane / 8, in_matrix = lane % 8;
  WarpSums<kRowBlocks, kGroups> sums = {};
  for (int step = 0; step < kStages - 1; ++step) load_step(step);
  table.fill(p, first_column, static_cast<int>(threadIdx.x), kThreads);
  for (int step = 0; step < steps; ++step) {
    wait_for_groups<kStages - 2>();
    __syncthreads();
    load_step(step + kStages - 1);
    const uint8_t* a_tile = shared + step % kStages * kStageBytes;
    const uint8_t* b_tile = a_tile + kRows * kDepth;
#pragma unroll
    for (int part = 0; part < kDepth / 32; ++part) {
      uint32_t a[kRowBlocks][4];
#pragma unroll
      for (int i = 0; i < kRowBlocks; ++i)
        load_matrices(a[i], a_tile
                                + swizzled<kDepth>(warp_row + i * 16 + matrix % 2 * 8 + in_matrix,
                                                   part * 2 + matrix / 2));
#pragma unroll
      for (int j = 0; j < kWarpColumns / 16; ++j) {
        uint32_t b[4];
        load_matrices(b, b_tile
                             + swizzled<kDepth>(warp_column + j * 16 + matrix / 2 * 8 + in_matrix,
                                                part * 2 + matrix % 2));
#pragma unroll
        for (int i = 0; i < kRowBlocks; ++i) {
          multiply_add_bytes<Data, Weights>(sums.values[i][2 * j], a[i], b[0], b[1]);
          multiply_add_bytes<Data, Weights>(sums.values[i][2 * j + 1], a[i], b[2], b[3]);
        }
      }
    }
  }

  store_sums<Sum>(
      p, sums, rows, first_column, warp_column,
      [&](int block) { return first_row + warp_row + block * 16; }, table,
      [&](const LaneUnit& unit, LaneBytes& bytes) {
        if (p.epilogue.has_addend()) load_addends(p, unit, bytes);
      });
#endif
}

template <class Data, int kRows, int kColumns, int kDown, int kAcross>
void launch_tile(const QuantizedGemm& p, cudaStream_t stream) {
  constexpr int kBytes = kStages * (kRows + kColumns) * kDepth, kAlways = 40 << 10;
  const auto kernel = p.channels % kChunk == 0
                          ? multiply<Data, kRows, kColumns, kDown, kAcross, false>
                          : multiply<Data, kRows, kColumns, kDown, kAcross, true>;
  if constexpr (kBytes > kAlways)
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  const Tiles tiles(p, kRows, kColumns);
  kernel<<<tiles.count(), kDown * kAcross * 32, kBytes, stream>>>(p, Dividers(p), tiles.rows,
                                                                  tiles.across);
}

}  // namespace
}  // namespace tenon::cuda
