#include "cuda/integer_gemm.cuh"

namespace tenon::cuda {
namespace {

constexpr int kDepth = 64;  // bytes of a row that are multiplied at a time
constexpr int kStages = 4;  // tiles that are there or on their way

// Of shared memory for tiles, and then for their sums.
template <int kRows, int kColumns, int kDown, int kAcross> constexpr int work_bytes() {
  constexpr int kTiles = kStages * (kRows + kColumns) * kDepth;
  constexpr int kSums = kDown * kAcross * sums_bytes(kRows / kDown / 16, kColumns / kAcross / 8);
  return kTiles > kSums ? kTiles : kSums;
}

// Blocks that share rows of the data follow each other, so that these are read from memory once.
// The warps of a block stand in a grid of kDown x kAcross.
template <class Data, int kRows, int kColumns, int kDown, int kAcross, bool kAlongLines>
__global__ void __launch_bounds__(kDown* kAcross * 32)
    multiply(IntegerGemm p, Dividers dividers, int64_t rows, unsigned column_tiles) {
#if __CUDA_ARCH__ >= 800  // older GPUs lack the instructions, and it is not launched there
  constexpr int kThreads = kDown * kAcross * 32;
  constexpr int kWarpRows = kRows / kDown, kWarpColumns = kColumns / kAcross;
  constexpr int kStageBytes = (kRows + kColumns) * kDepth;
  constexpr int kWorkBytes = work_bytes<kRows, kColumns, kDown, kAcross>();
  extern __shared__ __align__(128) uint8_t shared[];
  const int64_t first_row = int64_t{blockIdx.x / column_tiles} * kRows;
  const int first_column = static_cast<int>(blockIdx.x % column_tiles) * kColumns;
  const int row_bytes = p.row_bytes();
  const int steps = (p.kernel[0] * p.line_bytes() + kDepth - 1) / kDepth;
  DataLoader<kRows, kThreads, kDepth, kAlongLines> data(p, dividers, first_row, rows);
  const auto load_step = [&](int step) {
    if (step < steps) {
      uint8_t* stage = shared + step % kStages * kStageBytes;
      data.load(stage);
      load_weights<kColumns, kThreads, kDepth>(p, first_column, step * kDepth, row_bytes,
                                               stage + kRows * kDepth);
    }
    end_group();
  };

  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp / kAcross * kWarpRows, warp_column = warp % kAcross * kWarpColumns;
  const int matrix = lane / 8, in_matrix = lane % 8;
  WarpSums<kWarpRows / 16, kWarpColumns / 8> sums = {};
  const AddendTile<kRows, kColumns, kThreads> addend{shared + kWorkBytes};
  if (addend.is_used(p)) addend.load(p, first_row, rows, first_column);
  for (int step = 0; step < kStages - 1; ++step) load_step(step);
  for (int step = 0; step < steps; ++step) {
    wait_for_groups<kStages - 2>();
    __syncthreads();
    load_step(step + kStages - 1);
    const uint8_t* a_tile = shared + step % kStages * kStageBytes;
    const uint8_t* b_tile = a_tile + kRows * kDepth;
#pragma unroll
    for (int part = 0; part < kDepth / 32; ++part) {
      uint32_t a[kWarpRows / 16][4];
#pragma unroll
      for (int i = 0; i < kWarpRows / 16; ++i)
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
        for (int i = 0; i < kWarpRows / 16; ++i) {
          multiply_add_bytes<Data, int8_t>(sums[i][2 * j], a[i], b[0], b[1]);
          multiply_add_bytes<Data, int8_t>(sums[i][2 * j + 1], a[i], b[2], b[3]);
        }
      }
    }
  }
  wait_for_groups<0>();

  __syncthreads();
  store_sums(
      p, sums, {first_row, rows, first_column}, warp_column,
      [&](int block) { return warp_row + block * 16; }, addend,
      shared + warp * sums_bytes(kWarpRows / 16, kWarpColumns / 8));
#endif
}

template <class Data, int kRows, int kColumns, int kDown, int kAcross>
void launch(const IntegerGemm& p, cudaStream_t stream) {
  constexpr int kWorkBytes = work_bytes<kRows, kColumns, kDown, kAcross>();
  launch_tiles<kRows, kColumns, kDown * kAcross * 32, kWorkBytes>(
      p,
      p.channels % kChunk == 0 ? multiply<Data, kRows, kColumns, kDown, kAcross, false>
                               : multiply<Data, kRows, kColumns, kDown, kAcross, true>,
      stream);
}

template <class Data> void launch(const IntegerGemm& p, cudaStream_t stream) {
  switch (p.tile) {
    case IntegerGemm::Tile::k128x128:
      return launch<Data, 128, 128, 2, 2>(p, stream);
    case IntegerGemm::Tile::k128x64:
      return launch<Data, 128, 64, 2, 2>(p, stream);
    case IntegerGemm::Tile::k64x64:
      return launch<Data, 64, 64, 2, 2>(p, stream);
    case IntegerGemm::Tile::k64x32:
      return launch<Data, 64, 32, 2, 2>(p, stream);
    default:
      return launch_integer_gemm_of_warpgroups(p, stream);
  }
}

}  // namespace

void launch_integer_gemm(const IntegerGemm& p, cudaStream_t stream) {
  if (p.data_is_signed)
    launch<int8_t>(p, stream);
  else
    launch<uint8_t>(p, stream);
}

}  // namespace tenon::cuda
