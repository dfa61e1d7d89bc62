// The parts of an implicit GEMM of bytes that do not depend on the tensor cores' instructions.
#pragma once

#include <cuda_fp8.h>

#include "cuda/divider.cuh"
#include "cuda/elements.cuh"
#include "cuda/quantized_gemm.h"
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

/// What sums are of: their registers hold int32_t, or float for fp8.
template <class Data>
using SumOf = std::conditional_t<std::is_same_v<Data, __nv_fp8_e4m3>, float, int32_t>;
template <class Sum> __device__ float number_of(int32_t bits) {
  if constexpr (std::is_same_v<Sum, float>)
    return __int_as_float(bits);
  else
    return static_cast<float>(bits);
}

/// In the order of memory; what is beyond the range becomes its ends.
__device__ inline uint32_t packed_float8(float a, float b, float c, float d) {
  const auto pair = [](float x, float y) {
    return uint32_t{__nv_cvt_float2_to_fp8x2({x, y}, __NV_SATFINITE, __NV_E4M3)};
  };
  return pair(a, b) | pair(c, d) << 16;
}

/// What becomes of sums, for each output channel of a tile; in shared memory.
template <int kColumns> struct ChannelTable {
  int32_t bias[kColumns];  // of sums that stay int32
  /// Of others: what multiplies a sum, and is added; for bytes those of ByteEpilogue's entries.
  float scale[kColumns], shift[kColumns];

  /// Thread `i` of `threads` writes its part; those that read it wait for that.
  __device__ void fill(const QuantizedGemm& p, int first_column, int i, int threads) {
    const auto zero = static_cast<uint32_t>(byte_at(p.padding, p.data_is_signed, 0));
    for (; i < kColumns; i += threads) {
      const int channel = min(first_column + i, p.output_channels - 1);
      bias[i] = static_cast<int32_t>(static_cast<uint32_t>(p.bias[channel])
                                     - zero * static_cast<uint32_t>(p.weights_sum[channel]));
      scale[i] = number_at(p.epilogue.scale, channel, 1);
      shift[i] = number_at(p.epilogue.shift, channel, 0);
      if (!p.epilogue.makes_bytes()) {
        shift[i] += static_cast<float>(bias[i]) * scale[i];
        continue;
      }
      with_byte_epilogue(p.epilogue, [&](const auto& epilogue) {
        const auto entry = epilogue.entry(scale[i], shift[i], bias[i]);
        scale[i] = entry.scale;
        shift[i] = entry.shift;
      });
    }
  }
  /// Of four neighbours; sums wrap.
  __device__ int4 sums(int column, const int4& s) const {
    const auto add = [](int a, int b) {
      return static_cast<int>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
    };
    const int4 b = *reinterpret_cast<const int4*>(bias + column);
    return {add(s.x, b.x), add(s.y, b.y), add(s.z, b.z), add(s.w, b.w)};
  }
  template <class Sum> __device__ float4 numbers(int column, const int4& s) const {
    const float4 by = quad(scale, column), rest = quad(shift, column);
    const auto number = [](int sum, float a, float b) {
      return __fmaf_rn(number_of<Sum>(sum), a, b);
    };
    return {number(s.x, by.x, rest.x), number(s.y, by.y, rest.y), number(s.z, by.z, rest.z),
            number(s.w, by.w, rest.w)};
  }
  template <class Epilogue>
  __device__ uint32_t bytes(int column, const int4& s, const Epilogue& epilogue,
                            const ByteNumbers& addends) const {
    const float4 by = quad(scale, column), rest = quad(shift, column);
    const auto byte = [&](int sum, float a, float b, unsigned i) {
      return epilogue(static_cast<float>(sum), {a, b}, addends, i);
    };
    return packed_bytes(byte(s.x, by.x, rest.x, 0), byte(s.y, by.y, rest.y, 1),
                        byte(s.z, by.z, rest.z, 2), byte(s.w, by.w, rest.w, 3));
  }

 private:
  __device__ static float4 quad(const float (&list)[kColumns], int column) {
    return *reinterpret_cast<const float4*>(list + column);
  }
};

/// Output channels of a group lie in the weights so that a lane has neighbours of them: kOfLane in
/// each row.
constexpr int kGroup = QuantizedGemm::kGroup, kOfLane = kGroup / 4, kQuads = kOfLane / 4;

/// Sums of a warp as mma and wgmma leave them, in units of sixteen rows and a group of output
/// channels. A lane has two rows of each.
using UnitSums = int32_t[kGroup / 8][4];
template <int kRowBlocks, int kGroups> struct WarpSums {
  int32_t values[kRowBlocks][kGroups * kGroup / 8][4];

  /// Sums are registers: where the unit is not known to the compiler, this jumps.
  __device__ void copy_unit(int unit, UnitSums& to) const { copy_unit_from<0>(unit, to); }

 private:
  template <int kUnit> __device__ void copy_unit_from(int unit, UnitSums& to) const {
    if constexpr (kUnit < kRowBlocks * kGroups) {
      if (unit != kUnit) return copy_unit_from<kUnit + 1>(unit, to);
#pragma unroll
      for (int i = 0; i < kGroup / 8; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
          to[i][j] = values[kUnit / kGroups][kUnit % kGroups * kGroup / 8 + i][j];
    }
  }
};

/// Four neighbouring output channels of a lane.
__device__ inline int4 quad_of(const UnitSums& sums, int row, int quad) {
  return {sums[2 * quad][2 * row], sums[2 * quad][2 * row + 1], sums[2 * quad + 1][2 * row],
          sums[2 * quad + 1][2 * row + 1]};
}

template <class T> __device__ T from_number(int32_t x) {
  return x;
}
template <class T> __device__ T from_number(float x) {
  return from_float<T>(x);
}

/// A lane's part of a unit of the result: kOfLane output channels in each of two rows.
struct LaneUnit {
  int row_block, group;  // of the warp
  int column;            // of the tile
  int64_t at[2];         // in the result; -1: behind its rows
  int count;             // of output channels
  bool is_whole;         // all are there, at multiples of kOfLane; else that is not known

  __device__ LaneUnit(const QuantizedGemm& p, int row_block, int group, int64_t first_row,
                      int64_t rows, int first_column, int warp_column, bool whole)
      : row_block(row_block),
        group(group),
        column(warp_column + group * kGroup + static_cast<int>(threadIdx.x) % 4 * kOfLane) {
    const int64_t row = first_row + static_cast<int>(threadIdx.x) % 32 / 4;
    const int channel = first_column + column;
    for (int i = 0; i < 2; ++i)
      at[i] = row + 8 * i < rows ? (row + 8 * i) * p.output_channels + channel : -1;
    count = min(p.output_channels - channel, kOfLane);
    is_whole = whole || (count == kOfLane && p.output_channels % kOfLane == 0);
  }
};

/// Bytes of a lane's unit: of the addend, and then of the result.
using LaneBytes = uint32_t[2][kQuads];

__device__ inline void set_bytes(uint32_t (&row)[kQuads], const uint4& all) {
  row[0] = all.x, row[1] = all.y, row[2] = all.z, row[3] = all.w;
}

__device__ inline void load_addends(const QuantizedGemm& p, const LaneUnit& unit,
                                    LaneBytes& bytes) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (unit.at[r] < 0) continue;
    const uint8_t* from = static_cast<const uint8_t*>(p.epilogue.addend) + unit.at[r];
    if (unit.is_whole) {
      set_bytes(bytes[r], __ldg(reinterpret_cast<const uint4*>(from)));
      continue;
    }
#pragma unroll
    for (int i = 0; i < kOfLane; ++i)
      if (i < unit.count) bytes[r][i / 4] |= uint32_t{from[i]} << i % 4 * 8;
  }
}

__device__ inline void store_bytes(const QuantizedGemm& p, const LaneUnit& unit,
                                   const LaneBytes& bytes) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (unit.at[r] < 0) continue;
    uint8_t* to = static_cast<uint8_t*>(p.result) + unit.at[r];
    if (unit.is_whole) {
      *reinterpret_cast<uint4*>(to) = {bytes[r][0], bytes[r][1], bytes[r][2], bytes[r][3]};
      continue;
    }
#pragma unroll
    for (int i = 0; i < kOfLane; ++i)
      if (i < unit.count) to[i] = static_cast<uint8_t>(bytes[r][i / 4] >> i % 4 * 8);
  }
}

/// Calls body(row, quad) for each four output channels of a lane.
template <class Body> __device__ __forceinline__ void for_each_quad(const Body& body) {
#pragma unroll
  for (int quad = 0; quad < kQuads; ++quad)
#pragma unroll
    for (int row = 0; row < 2; ++row) body(row, quad);
}

/// Writes elements of a lane's row of a unit, as many at once as 16 bytes have.
template <class T>
__device__ void store_row(const QuantizedGemm& p, const LaneUnit& unit, int row,
                          const T (&values)[kOfLane]) {
  if (unit.at[row] < 0) return;
  auto* to = static_cast<T*>(p.result) + unit.at[row];
  if (unit.is_whole) {
    constexpr int kAtOnce = 16 / sizeof(T);
#pragma unroll
    for (int i = 0; i < kOfLane; i += kAtOnce) {
      Pack<T, kAtOnce> pack;
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) pack.values[j] = values[i + j];
      *reinterpret_cast<Pack<T, kAtOnce>*>(to + i) = pack;
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kOfLane; ++i)
    if (i < unit.count) to[i] = values[i];
}

/// Calls body with what stores a unit: store(sums, unit).
template <class Sum, int kColumns, class Load, class Body>
__device__ __forceinline__ void with_store(const QuantizedGemm& p,
                                           const ChannelTable<kColumns>& table, const Load& load,
                                           const Body& body) {
  const QuantizedEpilogue& e = p.epilogue;
  // Of elements that are not bytes, a row after the other.
  const auto store_rows = [&](auto zero, const auto& quad_at) {
    body([&](const UnitSums& sums, const LaneUnit& unit) {
#pragma unroll
      for (int row = 0; row < 2; ++row) {
        decltype(zero) values[kOfLane];
#pragma unroll
        for (int quad = 0; quad < kQuads; ++quad) {
          const auto four = quad_at(unit.column + quad * 4, quad_of(sums, row, quad));
          values[quad * 4] = from_number<decltype(zero)>(four.x);
          values[quad * 4 + 1] = from_number<decltype(zero)>(four.y);
          values[quad * 4 + 2] = from_number<decltype(zero)>(four.z);
          values[quad * 4 + 3] = from_number<decltype(zero)>(four.w);
        }
        store_row(p, unit, row, values);
      }
    });
  };
  const bool is_float = with_device_float(e.to, [&](auto zero) {
    store_rows(zero,
               [&](int column, const int4& s) { return table.template numbers<Sum>(column, s); });
  });
  if (is_float) return;
  if constexpr (std::is_same_v<Sum, float>) {
    with_float8_epilogue(e, [&](const auto& epilogue) {
      body([&](const UnitSums& sums, const LaneUnit& unit) {
        LaneBytes bytes;
        for_each_quad([&](int row, int quad) {
          const float4 x =
              table.template numbers<Sum>(unit.column + quad * 4, quad_of(sums, row, quad));
          bytes[row][quad] =
              packed_float8(epilogue(x.x), epilogue(x.y), epilogue(x.z), epilogue(x.w));
        });
        store_bytes(p, unit, bytes);
      });
    });
  } else if (e.to == DataType::kINT32) {
    store_rows(int32_t{}, [&](int column, const int4& s) { return table.sums(column, s); });
  } else {
    with_byte_epilogue(e, [&](const auto& epilogue) {
      body([&](const UnitSums& sums, const LaneUnit& unit) {
        LaneBytes bytes = {};
        if constexpr (std::decay_t<decltype(epilogue)>::kReadsAddend) load(unit, bytes);
        for_each_quad([&](int row, int quad) {
          uint32_t& word = bytes[row][quad];
          word = table.bytes(unit.column + quad * 4, quad_of(sums, row, quad), epilogue,
                             ByteNumbers(word, e.addend_is_signed));
        });
        store_bytes(p, unit, bytes);
      });
    });
  }
}

/// Writes a lane's part of a tile. `row_of(row_block)` tells in which row of the result a block
/// begins, and `load(unit, bytes)` brings the addend.
template <class Sum, int kRowBlocks, int kGroups, int kColumns, class RowOf, class Load>
__device__ __forceinline__ void store_sums(const QuantizedGemm& p,
                                           const WarpSums<kRowBlocks, kGroups>& sums, int64_t rows,
                                           int first_column, int warp_column, const RowOf& row_of,
                                           const ChannelTable<kColumns>& table, const Load& load) {
  constexpr int kUnits = kRowBlocks * kGroups;
  const auto store_unit = [&](int i, bool is_whole, const auto& store) {
    const LaneUnit unit(p, i / kGroups, i % kGroups, row_of(i / kGroups), rows, first_column,
                        warp_column, is_whole);
    UnitSums own;
    sums.copy_unit(i, own);
    store(own, unit);
  };
  if (p.output_channels % kGroup == 0 && first_column + kColumns <= p.output_channels) {
    with_store<Sum>(p, table, load, [&](const auto& store) {
#pragma unroll
      for (int i = 0; i < kUnits; ++i) store_unit(i, true, store);
    });
  } else {
#pragma unroll 1
    for (int i = 0; i < kUnits; ++i)
      with_store<Sum>(p, table, load, [&](const auto& store) { store_unit(i, false, store); });
  }
}

}  // namespace
}  // namespace tenon::cuda
