// What an implicit GEMM of bytes makes of its sums, and how it writes that.
#pragma once

#include <cuda_fp8.h>

#include "cuda/elements.cuh"
#include "cuda/quantized_gemm.h"

namespace tenon::cuda {
namespace {

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

/// Output channels of a group lie in the weights so that a lane has kOfLane in each row, those that
/// it writes at once beside each other.
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

/// What threadIdx.x is, read again at each call: kernels whose sums fill the registers would keep
/// what follows from it in memory.
__device__ inline int thread_now() {
  int x = 0;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
  return x;
}

/// A lane's part of a unit of the result: kOfLane output channels in each of two rows, of which
/// those neighbour each other that are written at once.
struct LaneUnit {
  int thread;            // of a warp
  int row_block, group;  // of the warp
  int column;            // of the tile, where the group begins
  int64_t at[2];         // in the result, where the group's rows begin; -1: behind its rows
  int count;             // of output channels from there on
  bool is_whole;         // all of the group are there; else that is not known

  __device__ LaneUnit(const QuantizedGemm& p, int row_block, int group, int64_t first_row,
                      int64_t rows, int first_column, int warp_column, bool whole)
      : thread(thread_now() % 32),
        row_block(row_block),
        group(group),
        column(warp_column + group * kGroup),
        count(p.output_channels - first_column - column),
        is_whole(whole) {
    const int64_t row = first_row + thread / 4;
    for (int i = 0; i < 2; ++i)
      at[i] = row + 8 * i < rows ? (row + 8 * i) * p.output_channels + first_column + column : -1;
  }
  /// Where in the group a lane's elements from `i` on lie, of which kAtOnce are neighbours.
  template <int kAtOnce> __device__ int index(int i) const {
    return i / kAtOnce * 4 * kAtOnce + thread % 4 * kAtOnce + i % kAtOnce;
  }
  /// Whether so many from that on are there, at multiples of them.
  template <int kAtOnce> __device__ bool has(const QuantizedGemm& p, int first) const {
    return is_whole || (first + kAtOnce <= count && p.output_channels % kAtOnce == 0);
  }
};

/// Bytes of a lane's unit: of the addend, and then of the result.
using LaneBytes = uint32_t[2][kQuads];

__device__ inline void set_bytes(uint32_t (&row)[kQuads], const uint4& all) {
  row[0] = all.x, row[1] = all.y, row[2] = all.z, row[3] = all.w;
}

__device__ inline void load_addends(const QuantizedGemm& p, const LaneUnit& unit,
                                    LaneBytes& bytes) {
  const int first = unit.index<kOfLane>(0);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (unit.at[r] < 0) continue;
    const uint8_t* from = static_cast<const uint8_t*>(p.epilogue.addend) + unit.at[r] + first;
    if (unit.has<kOfLane>(p, first)) {
      set_bytes(bytes[r], __ldg(reinterpret_cast<const uint4*>(from)));
      continue;
    }
#pragma unroll
    for (int i = 0; i < kOfLane; ++i)
      if (first + i < unit.count) bytes[r][i / 4] |= uint32_t{from[i]} << i % 4 * 8;
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
  constexpr int kAtOnce = 16 / sizeof(T);
  auto* to = static_cast<T*>(p.result) + unit.at[row];
#pragma unroll
  for (int i = 0; i < kOfLane; i += kAtOnce) {
    const int first = unit.template index<kAtOnce>(i);
    if (unit.has<kAtOnce>(p, first)) {
      Pack<T, kAtOnce> pack;
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) pack.values[j] = values[i + j];
      *reinterpret_cast<Pack<T, kAtOnce>*>(to + first) = pack;
      continue;
    }
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j)
      if (first + j < unit.count) to[first + j] = values[i + j];
  }
}

__device__ inline void store_bytes(const QuantizedGemm& p, const LaneUnit& unit,
                                   const LaneBytes& bytes) {
  const int first = unit.index<kOfLane>(0);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (unit.at[r] < 0) continue;
    uint8_t* to = static_cast<uint8_t*>(p.result) + unit.at[r] + first;
    if (unit.has<kOfLane>(p, first)) {
      *reinterpret_cast<uint4*>(to) = {bytes[r][0], bytes[r][1], bytes[r][2], bytes[r][3]};
      continue;
    }
#pragma unroll
    for (int i = 0; i < kOfLane; ++i)
      if (first + i < unit.count) to[i] = static_cast<uint8_t>(bytes[r][i / 4] >> i % 4 * 8);
  }
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
          constexpr int kAtOnce = 16 / sizeof(zero);
          const int column = unit.column + unit.template index<kAtOnce>(quad * 4);
          const auto four = quad_at(column, quad_of(sums, row, quad));
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
          const int column = unit.column + unit.template index<kOfLane>(quad * 4);
          const float4 x = table.template numbers<Sum>(column, quad_of(sums, row, quad));
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
          const int column = unit.column + unit.template index<kOfLane>(quad * 4);
          word = table.bytes(column, quad_of(sums, row, quad), epilogue,
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
