/// The sums of a tile of a product of matrices, in the registers of a block of 256 threads. Factors
/// are in shared memory; teams of warps share the depth.
#pragma once

#if defined(__CUDACC__)

#if !defined(__TENON_HOSTCUDA__)
#include <mma.h>
#endif

#include "tenon/kernels/pixels_cuda.h"
#include "tenon/kernels/warp.h"

namespace tenon::kernels::inline TENON_TARGET {

/// A tile of sums, and where a warp's lie: those of a team's warps are side by side.
/// @tparam teams how many warps share a sum
template <int teams> struct SumTile {
  static constexpr int kThreads = 256, kRows = 128, kColumns = 64;
  static constexpr int kWarpRows = 32 * teams, kWarpColumns = 32;

  static __device__ int team() { return static_cast<int>(threadIdx.x) / (kThreads / teams); }
  static __device__ int row() { return number() % (kRows / kWarpRows) * kWarpRows; }
  static __device__ int column() { return number() / (kRows / kWarpRows) * kWarpColumns; }

 private:
  static __device__ int number() {
    return static_cast<int>(threadIdx.x) % (kThreads / teams) / kWarp;
  }
};

/// Products of floats, by threads.
template <class E> class TileSums {
  static constexpr int kTeams = 2;

 public:
  using Factor = float;
  using Tile = SumTile<kTeams>;
  static constexpr int kTeamCount = kTeams;
  static constexpr int kDepth = 32;              // at a time
  static constexpr int kLeftStep = Tile::kRows;  // between pairs

  /// What the tile multiplies at a time: for each of kDepth a row, and a column.
  struct Memory {
    alignas(32) float left[kDepth * kLeftStep];
    alignas(32) float right[kDepth * Tile::kColumns];

    /// Factors of a column, from `first` on.
    __device__ void store(int column, int first, const Pack<float, 8>& values) {
#pragma unroll
      for (int i = 0; i < 8; ++i)
        right[(first + i) * Tile::kColumns + swizzled(column, first + i)] = values.values[i];
    }
  };

  __device__ void clear() {
    for (auto& row : sums_)
      for (float& sum : row) sum = 0;
  }
  __device__ void add(const Memory& memory) {
    const int first = Tile::team() * kShare;
#pragma unroll
    for (int quad = 0; quad < kShare; quad += 4) {
      const float* const left = memory.left + (first + quad) * kLeftStep + Tile::row() + row(0);
      const float* right[2];
#pragma unroll
      for (int i = 0; i < 2; ++i)
        right[i] = memory.right + (first + quad) * Tile::kColumns
                   + swizzled(Tile::column() + column(4 * i), first + quad);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        Pack<float> a[2], b[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          a[i] = Pack<float>::load(left + k * kLeftStep + i * (Tile::kWarpRows / 2));
          b[i] = Pack<float>::load(right[i] + k * Tile::kColumns);
        }
#pragma unroll
        for (int m = 0; m < 8; ++m)
#pragma unroll
          for (int n = 0; n < 8; ++n)
            sums_[m][n] += a[m / 4].values[m % 4] * b[n / 4].values[n % 4];
      }
    }
  }
  /// Puts the thread's sums into a tile, or on top of what is there.
  __device__ void put(float* tile, bool adds) const {
#pragma unroll
    for (int m = 0; m < 8; ++m)
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        float& to = tile[(Tile::row() + row(m)) * Tile::kColumns + Tile::column() + column(n)];
        to = adds ? to + sums_[m][n] : sums_[m][n];
      }
  }

 private:
  static constexpr int kShare = kDepth / kTeams;  // of a team

  // Where a column lies in a row, so that fours of columns and of rows meet in different banks.
  static __device__ int swizzled(int column, int row) { return column ^ row / 4 % 8 * 4; }
  // A thread has four rows and columns in both halves of what the warp has.
  static __device__ int row(int m) {
    return static_cast<int>(threadIdx.x) % 8 * 4 + m % 4 + m / 4 * (Tile::kWarpRows / 2);
  }
  static __device__ int column(int n) {
    return static_cast<int>(threadIdx.x) % kWarp / 8 * 4 + n % 4 + n / 4 * (Tile::kWarpColumns / 2);
  }

  float sums_[8][8];
};

#if !defined(__TENON_HOSTCUDA__)

/// Products of float16, by tensor cores.
template <> class TileSums<__half> {
  static constexpr int kTeams = 1;

 public:
  using Factor = __half;
  using Tile = SumTile<kTeams>;
  static constexpr int kTeamCount = kTeams;
  static constexpr int kDepth = 32;
  static constexpr int kLeftStep = Tile::kRows + 8;  // between pairs, which use different banks
  static constexpr int kRightStep = kDepth + 8;      // between columns

  struct Memory {
    alignas(32) __half left[kDepth * kLeftStep];
    alignas(32) __half right[Tile::kColumns * kRightStep];

    __device__ void store(int column, int first, const Pack<__half, 8>& values) {
      values.store(right + column * kRightStep + first);
    }
  };

  __device__ void clear() {
    for (auto& row : sums_)
      for (auto& sum : row) nvcuda::wmma::fill_fragment(sum, 0.f);
  }
  __device__ void add(const Memory& memory) {
    using namespace nvcuda::wmma;
#pragma unroll
    for (int k = 0; k < kDepth; k += kSide) {
      const __half* const left = memory.left + k * kLeftStep + Tile::row();
      const __half* const right = memory.right + Tile::column() * kRightStep + k;
      fragment<matrix_a, kSide, kSide, kSide, __half, col_major> a[2];
      fragment<matrix_b, kSide, kSide, kSide, __half, col_major> b[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        load_matrix_sync(a[i], left + i * kSide, kLeftStep);
        load_matrix_sync(b[i], right + i * kSide * kRightStep, kRightStep);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) mma_sync(sums_[i][j], a[i], b[j], sums_[i][j]);
    }
  }
  __device__ void put(float* tile, bool) const {
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 2; ++j)
        nvcuda::wmma::store_matrix_sync(
            tile + (Tile::row() + i * kSide) * Tile::kColumns + Tile::column() + j * kSide,
            sums_[i][j], Tile::kColumns, nvcuda::wmma::mem_row_major);
  }

 private:
  static constexpr int kSide = 16;
  static_assert(Tile::kWarpRows == 2 * kSide && Tile::kWarpColumns == 2 * kSide);
  using Sums = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, kSide, kSide, kSide, float>;

  Sums sums_[2][2];
};

#endif

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
