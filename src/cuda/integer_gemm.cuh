// The parts of an implicit GEMM of bytes that do not depend on the tensor cores' instructions.
#pragma once

#include "cuda/divider.cuh"
#include "cuda/elements.cuh"
#include "cuda/integer_gemm.h"
#include "cuda/tensor_cores.cuh"

namespace tenon::cuda {
namespace {

constexpr int kChunk = IntegerGemm::kChunk;
constexpr int kAtOnce = 4;  // output channels that a thread writes at once
constexpr int kOddStep =
    8;  // between rows of sums: those of a quarter of a warp lie in other banks

struct Dividers {
  explicit Dividers(const IntegerGemm& p) : lines(p.out[0]), columns(p.out[1]) {}
  Divider lines, columns;
};

// Where a chunk of a row of so many bytes lies in shared memory: eight rows of the same chunk lie
// in
/// different banks. Of 128 bytes it is the swizzle that wgmma reads.
template <int kDepth> __device__ int swizzled(int row, int chunk) {
  static_assert(kDepth == 64 || kDepth == 128);
  const int other = kDepth == 128 ? row & 7 : row >> 1 & 3;
  return row * kDepth + (chunk ^ other) * kChunk;
}

// The first element of the window of a position.
struct Position {
  const uint8_t* data;  // of the window's first element, which may lie in the padding
  int line, column;
};

// What a thread copies of each tile: the same chunk of several rows. `kAlongLines`: a chunk is of
// neighbours along a line of the window.
template <int kRows, int kThreads, int kDepth, bool kAlongLines> class DataLoader {
  static constexpr int kChunks = kDepth / kChunk;

 public:
  static constexpr int kOwn = kRows * kChunks / kThreads;

  __device__ DataLoader(const IntegerGemm& p, const Dividers& dividers, int64_t first_row,
                        int64_t rows)
      : p_(p), chunk_(static_cast<int>(threadIdx.x) % kChunks) {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int64_t row = first_row + row_of(i);
      auto rest = static_cast<uint32_t>(row < rows ? row : rows - 1);
      const int column = static_cast<int>(dividers.columns.split(rest)) * p.stride[1] - p.pre[1];
      const int line = static_cast<int>(dividers.lines.split(rest)) * p.stride[0] - p.pre[0];
      positions_[i] = {static_cast<const uint8_t*>(p.data)
                           + ((int64_t{rest} * p.in[0] + line) * p.in[1] + column) * p.channels,
                       line, column};
    }
    move(chunk_ * kChunk);
  }

  // The next tile.
  __device__ void load(uint8_t* tile) {
    const bool is_in_window = line_ < p_.kernel[0] * p_.dilation[0];
    const int64_t offset = (int64_t{line_} * p_.in[1] + column_) * p_.channels + channel_;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const Position& own = positions_[i];
      uint8_t* to = tile + swizzled<kDepth>(row_of(i), chunk_);
      const bool has_line =
          is_in_window && static_cast<unsigned>(own.line + line_) < static_cast<unsigned>(p_.in[0]);
      if constexpr (kAlongLines) {
        *reinterpret_cast<uint4*>(to) =
            has_line ? along_line(own.data + offset, int64_t{own.column} * p_.channels + channel_)
                     : *static_cast<const uint4*>(p_.padding);
      } else {
        const bool is_inside =
            has_line
            && static_cast<unsigned>(own.column + column_) < static_cast<unsigned>(p_.in[1]);
        copy_16(to, is_inside ? own.data + offset : p_.padding, is_in_window);
      }
    }
    move(kDepth);
  }

 private:
  __device__ int row_of(int i) const {
    return static_cast<int>(threadIdx.x) / kChunks + i * (kThreads / kChunks);
  }

  // So many bytes on in a row of the weights. Along lines, channel_ counts the bytes of a line.
  __device__ void move(int bytes) {
    channel_ += bytes;
    const int in_element = kAlongLines ? p_.line_bytes() : p_.channels;
    while (channel_ >= in_element) {
      channel_ -= in_element;
      if constexpr (!kAlongLines) {
        column_ += p_.dilation[1];
        if (column_ < p_.kernel[1] * p_.dilation[1]) continue;
        column_ = 0;
      }
      line_ += p_.dilation[0];
    }
  }

  // The bytes at `from`, which is `at` bytes behind the beginning of a line of the data; the zero
  // point for those before it and behind its end.
  __device__ uint4 along_line(const uint8_t* from, int64_t at) const {
    const int64_t end = int64_t{p_.in[1]} * p_.channels;
    uint32_t words[kChunk / 4 + 1] = {};
    // Read in words of four bytes, of which the last may end behind the line.
    const auto odd = static_cast<unsigned>(reinterpret_cast<uintptr_t>(from) % 4);
    if (at >= 0 && at + kChunk + (odd == 0 ? 0 : 4 - odd) <= end) {
      const auto* aligned = reinterpret_cast<const uint32_t*>(from - odd);
#pragma unroll
      for (int i = 0; i < kChunk / 4; ++i) words[i] = __ldg(aligned + i);
      if (odd != 0) words[kChunk / 4] = __ldg(aligned + kChunk / 4);
#pragma unroll
      for (int i = 0; i < kChunk / 4; ++i)
        words[i] = __funnelshift_r(words[i], words[i + 1], odd * 8);
    } else {
      const uint32_t zero = *static_cast<const uint8_t*>(p_.padding);
#pragma unroll
      for (int i = 0; i < kChunk; ++i) {
        const bool is_there = at + i >= 0 && at + i < end;
        words[i / 4] |= (is_there ? from[i] : zero) << i % 4 * 8;
      }
    }
    return {words[0], words[1], words[2], words[3]};
  }

  const IntegerGemm& p_;
  Position positions_[kOwn];
  int chunk_, line_ = 0, column_ = 0, channel_ = 0;
};

// Rows of the weights from `first` on; those beyond the last are the last again.
template <int kRows, int kThreads, int kDepth>
__device__ void load_weights(const IntegerGemm& p, int first, int at, int row_bytes,
                             uint8_t* tile) {
  constexpr int kChunks = kDepth / kChunk;
  const int chunk = static_cast<int>(threadIdx.x) % kChunks;
#pragma unroll
  for (int row = static_cast<int>(threadIdx.x) / kChunks; row < kRows; row += kThreads / kChunks) {
    const int output_channel = min(first + row, p.output_channels - 1);
    copy_16(tile + swizzled<kDepth>(row, chunk),
            static_cast<const uint8_t*>(p.weights) + int64_t{output_channel} * row_bytes + at
                + chunk * kChunk,
            true);
  }
}

// The numbers of the output channels that a thread writes.
struct Channels {
  float scale[kAtOnce], shift[kAtOnce];
  uint32_t bias[kAtOnce];

  __device__ Channels(const IntegerGemm& p, int first) {
    const auto zero = static_cast<uint32_t>(byte_at(p.padding, p.data_is_signed, 0));
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int channel = min(first + i, p.output_channels - 1);
      scale[i] = number_at(p.epilogue.scale, channel, 1);
      shift[i] = number_at(p.epilogue.shift, channel, 0);
      bias[i] = static_cast<uint32_t>(p.bias[channel])
                - zero * static_cast<uint32_t>(p.weights_sum[channel]);
    }
  }
  __device__ int32_t sum(const int4& sums, int i) const {
    const int32_t list[] = {sums.x, sums.y, sums.z, sums.w};
    return static_cast<int32_t>(static_cast<uint32_t>(list[i]) + bias[i]);
  }
  __device__ float number(const int4& sums, int i) const {
    return scaled(sum(sums, i), scale[i], shift[i]);
  }
};

/// Neighbouring output channels of a position, of which `count` are there; all of them are written
/// at once where their number is a multiple.
template <class T, class ValueOf>
__device__ void store_each(const IntegerGemm& p, int64_t at, int count, const ValueOf& value) {
  auto* to = static_cast<T*>(p.result) + at;
  if (p.output_channels % kAtOnce != 0) {
    for (int i = 0; i < count; ++i) to[i] = value(i);
    return;
  }
  Pack<T, kAtOnce> pack;
#pragma unroll
  for (int i = 0; i < kAtOnce; ++i) pack.values[i] = value(i);
  *reinterpret_cast<Pack<T, kAtOnce>*>(to) = pack;
}

/// The same of bytes.
template <class Epilogue>
__device__ void store_bytes(const IntegerGemm& p, const Epilogue& epilogue,
                            const Channels& channels, const int4& sums, uint32_t addends,
                            int64_t at, int count) {
  const bool at_once = p.output_channels % kAtOnce == 0;
  auto* to = static_cast<uint8_t*>(p.result) + at;
  uint32_t bytes[kAtOnce];
#pragma unroll
  for (int i = 0; i < kAtOnce; ++i)
    bytes[i] = epilogue(channels.number(sums, i), addends >> 8 * i & 0xff);
  const uint32_t word = __byte_perm(__byte_perm(bytes[0], bytes[1], 0x0040),
                                    __byte_perm(bytes[2], bytes[3], 0x0040), 0x5410);
  if (at_once)
    *reinterpret_cast<uint32_t*>(to) = word;
  else
    for (int i = 0; i < count; ++i) to[i] = static_cast<uint8_t>(word >> 8 * i);
}

/// Calls body with what writes neighbouring output channels: store(sums, addends, at, count).
template <class Body>
__device__ void with_store(const IntegerGemm& p, const Channels& channels, const Body& body) {
  const IntegerEpilogue& e = p.epilogue;
  if (e.to == DataType::kINT32)
    return body([&](const int4& sums, uint32_t, int64_t at, int count) {
      store_each<int32_t>(p, at, count, [&](int i) { return channels.sum(sums, i); });
    });
  const bool is_float = with_device_float(e.to, [&](auto zero) {
    using T = decltype(zero);
    body([&](const int4& sums, uint32_t, int64_t at, int count) {
      store_each<T>(p, at, count, [&](int i) { return from_float<T>(channels.number(sums, i)); });
    });
  });
  if (is_float) return;
  with_byte_epilogue(e, [&](const auto& epilogue) {
    body([&](const int4& sums, uint32_t addends, int64_t at, int count) {
      store_bytes(p, epilogue, channels, sums, addends, at, count);
    });
  });
}

/// Sums of a warp as mma leaves them: blocks of sixteen rows and of eight columns, of which a lane
/// has two neighbours in two rows.
template <int kRowBlocks, int kColumnBlocks> using WarpSums = int32_t[kRowBlocks][kColumnBlocks][4];

/// Bytes of shared memory that a warp writes its sums through.
constexpr int sums_bytes(int row_blocks, int column_blocks) {
  return row_blocks * 16 * (column_blocks * 8 + kOddStep) * 4;
}

/// The addend's part of a tile, which is brought into shared memory while sums are made.
template <int kRows, int kColumns, int kThreads> struct AddendTile {
  static constexpr int kBytes = kRows * kColumns;
  uint8_t* shared;

  /// Where it begins at multiples of 16 bytes; else it is read from where it is.
  __device__ static bool is_used(const IntegerGemm& p) {
    return p.epilogue.has_addend() && p.output_channels % kChunk == 0;
  }
  /// Part of the group of copies that ends next.
  __device__ void load(const IntegerGemm& p, int64_t first_row, int64_t rows,
                       int first_column) const {
    constexpr int kChunks = kColumns / kChunk;
    const auto* from = static_cast<const uint8_t*>(p.epilogue.addend);
    for (int i = static_cast<int>(threadIdx.x); i < kRows * kChunks; i += kThreads) {
      const int row = i / kChunks, column = i % kChunks * kChunk;
      const bool is_there = first_row + row < rows && first_column + column < p.output_channels;
      const int64_t at = (first_row + row) * p.output_channels + first_column + column;
      copy_16(shared + row * kColumns + column, is_there ? from + at : from, is_there);
    }
  }
  /// Of neighbouring output channels, of which `count` are there; `at` tells where in the result.
  __device__ uint32_t addends(const IntegerGemm& p, int row, int column, int64_t at,
                              int count) const {
    if (is_used(p)) return *reinterpret_cast<const uint32_t*>(shared + row * kColumns + column);
    const auto* from = static_cast<const uint8_t*>(p.epilogue.addend) + at;
    uint32_t word = 0;
    for (int i = 0; i < count; ++i) word |= uint32_t{from[i]} << 8 * i;
    return word;
  }
};

/// A tile of the result as a block has it.
struct Tile {
  int64_t first_row, rows;  // all rows of the result
  int first_column;
};

/// Writes a warp's part of a tile, whose first column is `warp_column`; `row_of` tells in which row
/// of the tile a block begins. Sums go through shared memory of the warp's own, so that neighbours
/// are written together.
template <int kRowBlocks, int kColumnBlocks, class RowOf, class Addends>
__device__ void store_sums(const IntegerGemm& p, const WarpSums<kRowBlocks, kColumnBlocks>& sums,
                           const Tile& tile, int warp_column, const RowOf& row_of,
                           const Addends& addend, uint8_t* shared) {
  constexpr int kColumns = kColumnBlocks * 8, kStep = kColumns + kOddStep;
  constexpr int kLanes = kColumns / kAtOnce < 32 ? kColumns / kAtOnce : 32;  // for each row
  constexpr int kRowsAtOnce = 32 / kLanes;
  auto* all = reinterpret_cast<int32_t*>(shared);
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < kRowBlocks; ++i)
#pragma unroll
    for (int j = 0; j < kColumnBlocks; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        *reinterpret_cast<int2*>(all + (i * 16 + lane / 4 + 8 * half) * kStep + j * 8
                                 + lane % 4 * 2) = {sums[i][j][2 * half], sums[i][j][2 * half + 1]};
  __syncwarp();
  const bool has_addend = p.epilogue.has_addend();
  for (int part = 0; part < kColumns; part += kLanes * kAtOnce) {
    const int in_warp = part + lane % kLanes * kAtOnce, in_tile = warp_column + in_warp;
    const int column = tile.first_column + in_tile;
    const int count = min(p.output_channels - column, kAtOnce);
    if (count <= 0) continue;
    const Channels channels(p, column);
    with_store(p, channels, [&](const auto& store) {
#pragma unroll 4
      for (int r = lane / kLanes; r < kRowBlocks * 16; r += kRowsAtOnce) {
        const int row = row_of(r / 16) + r % 16;
        if (tile.first_row + row >= tile.rows) continue;
        const int64_t at = (tile.first_row + row) * p.output_channels + column;
        store(*reinterpret_cast<const int4*>(all + r * kStep + in_warp),
              has_addend ? addend.addends(p, row, in_tile, at, count) : 0, at, count);
      }
    });
  }
}

/// Starts a kernel that makes a tile of so many rows and columns in each block, with shared memory
/// for its work and, where there is one, for the addend.
template <int kRows, int kColumns, int kThreads, int kWorkBytes>
void launch_tiles(const IntegerGemm& p,
                  void (*kernel)(IntegerGemm, Dividers, int64_t rows, unsigned column_tiles),
                  cudaStream_t stream) {
  const int64_t rows = int64_t{p.images} * p.out[0] * p.out[1];
  const int64_t row_tiles = (rows + kRows - 1) / kRows;
  const auto column_tiles = static_cast<unsigned>((p.output_channels + kColumns - 1) / kColumns);
  constexpr int kMaxBytes = kWorkBytes + kRows * kColumns, kAlways = 48 << 10;
  if constexpr (kMaxBytes > kAlways)
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMaxBytes);
  const int bytes = p.epilogue.has_addend() ? kMaxBytes : kWorkBytes;
  kernel<<<static_cast<unsigned>(row_tiles) * column_tiles, kThreads, bytes, stream>>>(
      p, Dividers(p), rows, column_tiles);
}

}  // namespace
}  // namespace tenon::cuda
