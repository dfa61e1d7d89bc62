#include "cuda/elements.cuh"
#include "cuda/grid.cuh"
#include "cuda/reorder.h"

namespace tenon::cuda {
namespace {

constexpr int kLanes = 32, kRows = 8;  // of threads in a block that transposes a tile
constexpr int64_t kShort = 16;  // matrices with a side of up to this many are moved without tiles

// Reads and writes are both along rows of memory, kPack elements at a time: the tile is transposed
// on the way.
template <class T, int kPack>
__global__ void transpose_tiles(const T* in, T* out, int64_t rows, int64_t columns,
                                int64_t row_tiles, int64_t column_tiles) {
  constexpr int kTile = kLanes * kPack;
  using Packed = Pack<T, kPack>;
  __shared__ T tile[kTile][kTile + kPack];
  const int64_t row_tile = blockIdx.x / column_tiles;
  const int64_t matrix = row_tile / row_tiles;
  const int64_t first_row = row_tile % row_tiles * kTile;
  const int64_t first_column = blockIdx.x % column_tiles * kTile;
  in += matrix * rows * columns;
  out += matrix * rows * columns;
  const int along = threadIdx.x * kPack;
  for (int i = threadIdx.y; i < kTile; i += kRows)
    if (first_row + i < rows && first_column + along < columns)
      *reinterpret_cast<Packed*>(&tile[i][along]) =
          *reinterpret_cast<const Packed*>(in + (first_row + i) * columns + first_column + along);
  __syncthreads();
  for (int i = threadIdx.y; i < kTile; i += kRows)
    if (first_column + i < columns && first_row + along < rows) {
      Packed pack;
      for (int k = 0; k < kPack; ++k) pack.values[k] = tile[along + k][i];
      *reinterpret_cast<Packed*>(out + (first_column + i) * rows + first_row + along) = pack;
    }
}

// A thread moves what lies along the short side; neighbours lie side by side along the other.
template <class T, bool kFewRows>
__global__ void transpose_short(const T* in, T* out, int64_t matrices, int64_t longer,
                                int shorter) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= matrices * longer) return;
  const int64_t matrix = i / longer, at = i % longer;
  in += matrix * longer * shorter;
  out += matrix * longer * shorter;
  for (int k = 0; k < shorter; ++k) {
    const int64_t apart = k * longer + at, together = at * shorter + k;
    if constexpr (kFewRows)
      out[together] = in[apart];
    else
      out[apart] = in[together];
  }
}

// The same for images of few channels, 16 bytes at a time.
template <class T, bool kFewRows, int kShortSide>
__global__ void transpose_packed(const T* in, T* out, int64_t matrices, int64_t longer) {
  constexpr int kPack = 16 / sizeof(T);
  using Packed = Pack<T, kPack>;
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x, packs = longer / kPack;
  if (i >= matrices * packs) return;
  const int64_t matrix = i / packs, at = i % packs * kPack;
  in += matrix * longer * kShortSide;
  out += matrix * longer * kShortSide;
  const int64_t read = kFewRows ? at : at * kShortSide;
  const int64_t read_step = kFewRows ? longer : kPack;
  const int64_t write = kFewRows ? at * kShortSide : at;
  const int64_t write_step = kFewRows ? kPack : longer;
  Packed from[kShortSide], to[kShortSide];
#pragma unroll
  for (int k = 0; k < kShortSide; ++k)
    from[k] = *reinterpret_cast<const Packed*>(in + read + k * read_step);
#pragma unroll
  for (int k = 0; k < kShortSide; ++k)
#pragma unroll
    for (int e = 0; e < kPack; ++e) {
      const int together = e * kShortSide + k;  // where element e of line k lies among all
      if constexpr (kFewRows)
        to[together / kPack].values[together % kPack] = from[k].values[e];
      else
        to[k].values[e] = from[together / kPack].values[together % kPack];
    }
#pragma unroll
  for (int k = 0; k < kShortSide; ++k)
    *reinterpret_cast<Packed*>(out + write + k * write_step) = to[k];
}

unsigned blocks_of(int64_t threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

template <class T, bool kFewRows>
void launch_short(const T* in, T* out, int64_t matrices, int64_t longer, int64_t shorter,
                  cudaStream_t stream) {
  constexpr int64_t kPack = 16 / sizeof(T);
  const unsigned blocks = blocks_of(matrices * longer),
                 packed = blocks_of(matrices * longer / kPack);
  const bool packs = longer % kPack == 0 && is_multiple(in, 16) && is_multiple(out, 16);
  if (packs && shorter == 2)
    transpose_packed<T, kFewRows, 2><<<packed, kThreads, 0, stream>>>(in, out, matrices, longer);
  else if (packs && shorter == 3)
    transpose_packed<T, kFewRows, 3><<<packed, kThreads, 0, stream>>>(in, out, matrices, longer);
  else if (packs && shorter == 4)
    transpose_packed<T, kFewRows, 4><<<packed, kThreads, 0, stream>>>(in, out, matrices, longer);
  else
    transpose_short<T, kFewRows>
        <<<blocks, kThreads, 0, stream>>>(in, out, matrices, longer, static_cast<int>(shorter));
}

template <class T, int kPack>
void launch_tiles(const T* in, T* out, const TransposeParameters& p, cudaStream_t stream) {
  constexpr int64_t kTile = kLanes * kPack;
  const int64_t row_tiles = (p.rows + kTile - 1) / kTile;
  const int64_t column_tiles = (p.columns + kTile - 1) / kTile;
  const auto blocks = static_cast<unsigned>(p.matrices * row_tiles * column_tiles);
  transpose_tiles<T, kPack><<<blocks, dim3(kLanes, kRows), 0, stream>>>(in, out, p.rows, p.columns,
                                                                        row_tiles, column_tiles);
}

template <class T> void launch(const TransposeParameters& p, cudaStream_t stream) {
  const T* in = static_cast<const T*>(p.in);
  T* out = static_cast<T*>(p.out);
  constexpr int kPack = sizeof(T) == 2 ? 2 : 1;
  if (p.rows <= kShort)
    launch_short<T, true>(in, out, p.matrices, p.columns, p.rows, stream);
  else if (p.columns <= kShort)
    launch_short<T, false>(in, out, p.matrices, p.rows, p.columns, stream);
  else if (kPack > 1 && p.rows % kPack == 0 && p.columns % kPack == 0
           && is_multiple(in, sizeof(T) * kPack) && is_multiple(out, sizeof(T) * kPack))
    launch_tiles<T, kPack>(in, out, p, stream);
  else
    launch_tiles<T, 1>(in, out, p, stream);
}

// A thread makes one element of the result; neighbours write side by side.
template <class T>
__global__ void regroup(const T* in, ChannelGroups from, T* out, ChannelGroups to) {
  for_own(to.elements(), [&](int64_t i) {
    const int64_t position = i / to.width, group = position / to.plane;
    const int64_t image = group / to.groups;
    const int64_t channel = group % to.groups * to.width + i % to.width;
    T value{};
    if (channel < to.channels)
      value = in[from.offset(image, channel) + position % to.plane * from.width];
    out[i] = value;
  });
}

}  // namespace

void launch_regroup(const void* in, const ChannelGroups& from, void* out, const ChannelGroups& to,
                    int64_t bytes, cudaStream_t stream) {
  const int64_t count = to.elements();
  if (count == 0) return;
  with_word(bytes, [&](auto zero) {
    using T = decltype(zero);
    launch(regroup<T>, blocks_for(count), kThreads, stream, static_cast<const T*>(in), from,
           static_cast<T*>(out), to);
  });
}

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
