// The parts of an implicit GEMM of bytes that do not depend on the tensor cores' instructions.
#pragma once

#include "cuda/divider.cuh"
#include "cuda/quantized_gemm.h"
#include "cuda/quantized_gemm_results.cuh"
#include "cuda/tensor_cores.cuh"

namespace tenon::cuda {
namespace {

constexpr int kChunk = QuantizedGemm::kChunk;

struct Dividers {
  explicit Dividers(const QuantizedGemm& p) : lines(p.out[0]), columns(p.out[1]) {}
  Divider lines, columns;
};

// Tiles of the result; those that share rows follow each other.
struct Tiles {
  int64_t rows;     // of the result
  unsigned across;  // tiles beside each other
  int64_t down;

  Tiles(const QuantizedGemm& p, int tile_rows, int tile_columns)
      : rows(int64_t{p.images} * p.out[0] * p.out[1]),
        across(static_cast<unsigned>((p.output_channels + tile_columns - 1) / tile_columns)),
        down((rows + tile_rows - 1) / tile_rows) {}
  __host__ __device__ unsigned count() const { return static_cast<unsigned>(down) * across; }
};

// Where a chunk of a row of so many bytes lies in shared memory: eight rows of the same chunk lie
// in different banks. Of 128 bytes it is the swizzle that wgmma reads.
template <int kDepth> __device__ int swizzled(int row, int chunk) {
  static_assert(kDepth == 64 || kDepth == 128);
  const int other = kDepth == 128 ? row & 7 : row >> 1 & 3;
  return row * kDepth + (chunk ^ other) * kChunk;
}

// kChunk bytes of a line of the data, from `at` on; the zero point for those before it and behind
// its end.
__device__ inline uint4 bytes_of_line(const QuantizedGemm& p, const uint8_t* line, int64_t at,
                                      int64_t end) {
  uint32_t words[kChunk / 4 + 1] = {};
  // Read in words of four bytes, of which the last may end behind the line.
  const uint8_t* from = line + at;
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
    const uint32_t zero = *static_cast<const uint8_t*>(p.padding);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      const bool is_there = at + i >= 0 && at + i < end;
      words[i / 4] |= (is_there ? from[i] : zero) << i % 4 * 8;
    }
  }
  return {words[0], words[1], words[2], words[3]};
}

// What a thread copies of each tile: the same chunk of several rows. `kAlongLines`: a chunk is of
// neighbours along a line of the window.
template <int kRows, int kThreads, int kDepth, bool kAlongLines> class DataLoader {
  static constexpr int kChunks = kDepth / kChunk;
  // Where something lies in the data, counted in so many bytes.
  static constexpr int kUnit = kAlongLines ? 1 : kChunk;
  using Index = std::conditional_t<kAlongLines, int64_t, int32_t>;

 public:
  static constexpr int kOwn = kRows * kChunks / kThreads;

  __device__ DataLoader(const QuantizedGemm& p, const Dividers& dividers, int64_t first_row,
                        int64_t rows)
      : p_(p), chunk_(static_cast<int>(threadIdx.x) % kChunks) {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int64_t row = first_row + row_of(i);
      auto rest = static_cast<uint32_t>(row < rows ? row : rows - 1);
      const int column = static_cast<int>(dividers.columns.split(rest)) * p.stride[1] - p.pre[1];
      const int line = static_cast<int>(dividers.lines.split(rest)) * p.stride[0] - p.pre[0];
      positions_[i] = {((static_cast<Index>(rest) * p.in[0] + line) * p.in[1] + column) * units(),
                       line, column};
    }
    move(chunk_ * kChunk);
  }

  // The next tile. What it has behind the window is left as it is, as zeros of the weights multiply
  // it; of fp8, which has NaN, it is zeros.
  __device__ void load(uint8_t* tile) {
    const bool is_behind = line_ >= p_.kernel[0] * p_.dilation[0];
    if (is_behind && !p_.is_float8) return;
    const Index offset =
        (static_cast<Index>(line_) * p_.in[1] + column_) * units() + channel_ / kUnit;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const Position& own = positions_[i];
      const uint8_t* from =
          static_cast<const uint8_t*>(p_.data) + int64_t{own.first + offset} * kUnit;
      uint8_t* to = tile + swizzled<kDepth>(row_of(i), chunk_);
      const bool has_line =
          !is_behind && static_cast<unsigned>(own.line + line_) < static_cast<unsigned>(p_.in[0]);
      if constexpr (kAlongLines) {
        const int64_t at = int64_t{own.column} * p_.channels + channel_;
        const int columns = p_.is_float8 ? min(p_.in[1], own.column + p_.kernel[1]) : p_.in[1];
        *reinterpret_cast<uint4*>(to) =
            has_line ? bytes_of_line(p_, from - at, at, int64_t{columns} * p_.channels)
                     : *static_cast<const uint4*>(p_.padding);
      } else {
        const bool is_inside =
            has_line
            && static_cast<unsigned>(own.column + column_) < static_cast<unsigned>(p_.in[1]);
        // All would read the padding at the same address, for which they wait for each other.
        copy_16(to, is_inside ? from : p_.padding, is_inside || !p_.pads_with_zeros);
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

  __device__ Index units() const { return p_.channels / kUnit; }  // of an element of the window

  struct Position {
    Index first;       // of its window, which may lie in the padding
    int line, column;  // of that
  };
  const QuantizedGemm& p_;
  Position positions_[kOwn];
  int chunk_, line_ = 0, column_ = 0, channel_ = 0;
};

}  // namespace
}  // namespace tenon::cuda
