#include "cuda/convolution/fused_product.h"
#include "cuda/elements.cuh"
#include "cuda/tensor_cores.cuh"

namespace tenon::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kDepth = 32;         // of a tile in shared memory
constexpr int kStep = kDepth + 8;  // between its rows: eight of them lie in different banks
constexpr int kStages = 3;         // tiles that are there or on their way
constexpr int kPack = 8;           // elements of 16 bytes

template <class T, int kRows, int kColumns> struct Shared {
  static constexpr int kSumStep = kColumns + 4;
  union {
    struct {
      T data[kStages][kRows][kStep], weights[kStages][kColumns][kStep];
    };
    float sums[kRows][kSumStep];
  };
};

// `count` rows of a tile from column `first` on; zeros where there is no element.
template <class T, int kRows>
__device__ void fetch(T (*to)[kStep], const T* from, int64_t count, int depth, int first) {
  constexpr int kChunks = kDepth / kPack;
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kChunks; i += kThreads) {
    const int row = i / kChunks, column = i % kChunks * kPack;
    const bool is_there = row < count && first + column < depth;
    copy_16(&to[row][column], is_there ? from + int64_t{row} * depth + first + column : from,
            is_there);
  }
}

// Blocks that share rows of the data follow each other, so that these are read from memory once.
// The warps of a block stand in a grid of kDown x kAcross.
template <class T, int kRows, int kColumns, int kDown, int kAcross>
__global__ void __launch_bounds__(kThreads) multiply(FusedProduct p, int column_tiles) {
#if __CUDA_ARCH__ >= 800
  constexpr int kWarpRows = kRows / kDown, kWarpColumns = kColumns / kAcross;
  __shared__ __align__(16) Shared<T, kRows, kColumns> shared;
  const int64_t first_row = int64_t{blockIdx.x} / column_tiles * kRows;
  const int first_column =
      static_cast<int>(blockIdx.x % static_cast<unsigned>(column_tiles)) * kColumns;
  const T* data = static_cast<const T*>(p.data) + first_row * p.depth;
  const T* weights = static_cast<const T*>(p.weights) + int64_t{first_column} * p.depth;
  const int64_t rows = min(p.rows - first_row, int64_t{kRows});
  const int columns = min(p.columns - first_column, kColumns);
  const int steps = (p.depth + kDepth - 1) / kDepth;
  const auto load_step = [&](int step) {
    if (step < steps) {
      fetch<T, kRows>(shared.data[step % kStages], data, rows, p.depth, step * kDepth);
      fetch<T, kColumns>(shared.weights[step % kStages], weights, columns, p.depth, step * kDepth);
    }
    end_group();
  };

  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp / kAcross * kWarpRows, warp_column = warp % kAcross * kWarpColumns;
  const int matrix = lane / 8, in_matrix = lane % 8;
  float sums[kWarpRows / 16][kWarpColumns / 8][4] = {};
  for (int step = 0; step < kStages - 1; ++step) load_step(step);
  for (int step = 0; step < steps; ++step) {
    wait_for_groups<kStages - 2>();
    __syncthreads();
    load_step(step + kStages - 1);
    const auto& a_tile = shared.data[step % kStages];
    const auto& b_tile = shared.weights[step % kStages];
#pragma unroll
    for (int k = 0; k < kDepth; k += 16) {
      uint32_t a[kWarpRows / 16][4];
#pragma unroll
      for (int i = 0; i < kWarpRows / 16; ++i)
        load_matrices(a[i],
                      &a_tile[warp_row + i * 16 + matrix % 2 * 8 + in_matrix][k + matrix / 2 * 8]);
#pragma unroll
      for (int j = 0; j < kWarpColumns / 16; ++j) {
        uint32_t b[4];
        load_matrices(
            b, &b_tile[warp_column + j * 16 + matrix / 2 * 8 + in_matrix][k + matrix % 2 * 8]);
#pragma unroll
        for (int i = 0; i < kWarpRows / 16; ++i) {
          multiply_add<T>(sums[i][2 * j], a[i], b[0], b[1]);
          multiply_add<T>(sums[i][2 * j + 1], a[i], b[2], b[3]);
        }
      }
    }
  }
  wait_for_groups<0>();
  __syncthreads();

  // Through shared memory, so that rows of the result are written whole.
#pragma unroll
  for (int i = 0; i < kWarpRows / 16; ++i)
#pragma unroll
    for (int j = 0; j < kWarpColumns / 8; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float* to =
            &shared
                 .sums[warp_row + i * 16 + lane / 4 + 8 * half][warp_column + j * 8 + lane % 4 * 2];
        *reinterpret_cast<float2*>(to) = {sums[i][j][2 * half], sums[i][j][2 * half + 1]};
      }
  __syncthreads();
  constexpr int kPacks = kColumns / kPack;
  using Packed = Pack<T, kPack>;
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kPacks; i += kThreads) {
    const int row = i / kPacks, column = i % kPacks * kPack;
    if (row >= rows || column >= columns) continue;
    const int64_t at = (first_row + row) * p.columns + first_column + column;
    Packed bias, added, result;
    if (p.bias != nullptr)
      bias =
          *reinterpret_cast<const Packed*>(static_cast<const T*>(p.bias) + first_column + column);
    if (p.epilogue.adds)
      added = *reinterpret_cast<const Packed*>(static_cast<const T*>(p.added) + at);
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      float x = shared.sums[row][column + k];
      if (p.bias != nullptr) x += to_float(bias.values[k]);
      if (p.epilogue.adds) x += to_float(added.values[k]);
      result.values[k] = from_float<T>(activated(p.epilogue, x));
    }
    *reinterpret_cast<Packed*>(static_cast<T*>(p.result) + at) = result;
  }
#endif
}

template <class T, int kRows, int kColumns, int kDown, int kAcross>
void launch(const FusedProduct& p, cudaStream_t stream) {
  const int64_t row_tiles = (p.rows + kRows - 1) / kRows;
  const int column_tiles = (p.columns + kColumns - 1) / kColumns;
  multiply<T, kRows, kColumns, kDown, kAcross>
      <<<static_cast<unsigned>(row_tiles * column_tiles), kThreads, 0, stream>>>(p, column_tiles);
}

template <class T> void launch(const FusedProduct& p, cudaStream_t stream) {
  switch (p.tile) {
    case FusedProduct::Tile::k128x64:
      return launch<T, 128, 64, 4, 1>(p, stream);
    case FusedProduct::Tile::k64x64:
      return launch<T, 64, 64, 2, 2>(p, stream);
    case FusedProduct::Tile::k64x32:
      return launch<T, 64, 32, 4, 1>(p, stream);
    case FusedProduct::Tile::k32x32:
      return launch<T, 32, 32, 2, 2>(p, stream);
  }
}

}  // namespace

void launch_fused_product(const FusedProduct& p, cudaStream_t stream) {
  if (p.type == DataType::kHALF)
    launch<__half>(p, stream);
  else
    launch<__nv_bfloat16>(p, stream);
}

}  // namespace tenon::cuda
