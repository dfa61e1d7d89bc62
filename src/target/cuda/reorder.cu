#include "target/cuda/reorder.h"

namespace tenon::cuda {
namespace {

constexpr int kTile = 32;
constexpr int kTileRows = 8;     // of threads; each moves kTile / kTileRows elements
constexpr int64_t kNarrow = 16;  // matrices with a side of up to this many are moved without tiles
constexpr int kThreads = 256;

// Reads and writes are both along rows of memory: the tile is turned on the way.
template <class T>
__global__ void transpose_tiles(const T* in, T* out, int64_t rows, int64_t columns,
                                int64_t row_tiles, int64_t column_tiles) {
  __shared__ T tile[kTile][kTile + 1];
  const int64_t row_tile = blockIdx.x / column_tiles;
  const int64_t matrix = row_tile / row_tiles;
  const int64_t first_row = row_tile % row_tiles * kTile;
  const int64_t first_column = blockIdx.x % column_tiles * kTile;
  in += matrix * rows * columns;
  out += matrix * rows * columns;
  const int64_t column = first_column + threadIdx.x;
  for (int i = threadIdx.y; i < kTile; i += kTileRows)
    if (first_row + i < rows && column < columns)
      tile[i][threadIdx.x] = in[(first_row + i) * columns + column];
  __syncthreads();
  const int64_t row = first_row + threadIdx.x;
  for (int i = threadIdx.y; i < kTile; i += kTileRows)
    if (first_column + i < columns && row < rows)
      out[(first_column + i) * rows + row] = tile[threadIdx.x][i];
}

// A thread moves what lies along the narrow side; neighbours lie side by side along the other.
template <class T, bool kNarrowRows>
__global__ void transpose_narrow(const T* in, T* out, int64_t matrices, int64_t wide, int narrow) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= matrices * wide) return;
  const int64_t matrix = i / wide, at = i % wide;
  in += matrix * wide * narrow;
  out += matrix * wide * narrow;
  for (int k = 0; k < narrow; ++k) {
    const int64_t apart = k * wide + at, together = at * narrow + k;
    if constexpr (kNarrowRows)
      out[together] = in[apart];
    else
      out[apart] = in[together];
  }
}

unsigned blocks_of(int64_t threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

template <class T> void launch(const TransposeParameters& p, cudaStream_t stream) {
  const T* in = static_cast<const T*>(p.in);
  T* out = static_cast<T*>(p.out);
  if (p.rows <= kNarrow) {
    transpose_narrow<T, true><<<blocks_of(p.matrices * p.columns), kThreads, 0, stream>>>(
        in, out, p.matrices, p.columns, static_cast<int>(p.rows));
  } else if (p.columns <= kNarrow) {
    transpose_narrow<T, false><<<blocks_of(p.matrices * p.rows), kThreads, 0, stream>>>(
        in, out, p.matrices, p.rows, static_cast<int>(p.columns));
  } else {
    const int64_t row_tiles = (p.rows + kTile - 1) / kTile;
    const int64_t column_tiles = (p.columns + kTile - 1) / kTile;
    const dim3 threads(kTile, kTileRows);
    transpose_tiles<<<static_cast<unsigned>(p.matrices * row_tiles * column_tiles), threads, 0,
                      stream>>>(in, out, p.rows, p.columns, row_tiles, column_tiles);
  }
}

}  // namespace

void launch_transpose(const TransposeParameters& p, cudaStream_t stream) {
  switch (p.bytes) {
    case 1:
      return launch<uint8_t>(p, stream);
    case 2:
      return launch<uint16_t>(p, stream);
    case 4:
      return launch<uint32_t>(p, stream);
    default:
      return launch<uint64_t>(p, stream);
  }
}

}  // namespace tenon::cuda
