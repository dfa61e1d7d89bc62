// The products by wgmma, whose operands are read from shared memory by a group of four warps.
// Blocks are persistent and their warpgroups specialized: one loads, the others each make tiles in
// turn, so that one multiplies while another stores.
#pragma once

#include <algorithm>

#include "cuda/asynchronous_copies.cuh"
#include "cuda/capability.h"
#include "cuda/quantized_gemm.cuh"
#include "cuda/tma.h"
#include "cuda/warpgroup_products.cuh"

namespace tenon::cuda {
namespace {

constexpr int kDepth = QuantizedGemm::kDepth;  // bytes of a row that are multiplied at a time
constexpr int kStep = 32;                      // of which an instruction multiplies so many

// What TMA needs to know, where it can load the data: a thread asks for a whole slice then. Else a
// warpgroup copies chunks of it.
struct TmaDescriptors {
  CUtensorMap data, addend;
  /// Bytes that are loaded at once for a position, of one element of the window; 0: none.
  int run = 0;
};

// What a block keeps in shared memory. A stage holds a slice of a tile's operands, or a tile of the
// addend, in which rows are swizzled as in a slice.
template <int kRows, int kColumns, int kGroupsOfWarps, int kStages> struct Shared {
  struct Stage {
    uint8_t data[kRows * kDepth];
    uint8_t weights[kColumns * kDepth];
  };
  Stage stages[kStages];
  ChannelTable<kColumns> tables[kGroupsOfWarps];
  uint64_t full[kStages], empty[kStages];
  uint64_t order[kGroupsOfWarps];  // in which they multiply
};

// Whether the addend's tiles come through stages; else lanes read it from where it is.
__host__ __device__ bool has_addend_stage(const QuantizedGemm& p) {
  return p.epilogue.has_addend() && p.output_channels % kChunk == 0;
}

template <class Sum, int kRows, int kColumns, int kGroupsOfWarps, int kStages> class Block {
  using Memory = Shared<kRows, kColumns, kGroupsOfWarps, kStages>;
  static constexpr int kBlocks = kRows / 64, kGroups = kColumns / kGroup;

 public:
  __device__ Block(const QuantizedGemm& p, const Dividers& dividers, const Tiles& tiles,
                   const TmaDescriptors& descriptors, Memory& memory)
      : p_(p),
        descriptors_(descriptors),
        dividers_(dividers),
        tiles_(tiles),
        shared_(memory),
        run_(descriptors.run > 0 ? descriptors.run : kDepth),
        steps_((p.depth() + kDepth - 1) / kDepth) {}

  // All threads of the block.
  __device__ void initialize_barriers() {
    if (threadIdx.x == 0) {
      for (int i = 0; i < kStages; ++i) {
        initialize(&shared_.full[i], descriptors_.run > 0 ? 1 : kWarpgroup);
        initialize(&shared_.empty[i], kWarpgroup / 32);
      }
      for (uint64_t& barrier : shared_.order) initialize(&barrier, 1);
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
  }

  // One thread.
  __device__ void load_tiles_by_tma() {
    for (unsigned tile = blockIdx.x; tile < tiles_.count(); tile += gridDim.x) {
      const int64_t first_row = row_of(tile);
      const int first_column = column_of(tile);
      auto image = static_cast<uint32_t>(first_row);
      const auto out_column = static_cast<int>(dividers_.columns.split(image));
      const auto out_line = static_cast<int>(dividers_.lines.split(image));
      const int column = out_column * p_.stride[1] - p_.pre[1];
      const int line = out_line * p_.stride[0] - p_.pre[0];
      int channel = 0, window_column = 0, window_line = 0;
      for (int step = 0; step < steps_; ++step) {
        auto& stage = next_free();
        uint64_t* full = &shared_.full[counter_.stage()];
        const int runs = runs_of(step);
        load_weights(stage.weights, step, first_column, full);
        expect(full, runs * kRows * descriptors_.run);
        for (int run = 0; run < runs; ++run) {
          // TMA gives zeros for channels that are not there.
          const bool is_behind = window_line >= p_.kernel[0];
          copy_im2col(stage.data + run * kRows * descriptors_.run, descriptors_.data,
                      is_behind ? p_.channels : channel, column, line, static_cast<int>(image),
                      window_column * p_.dilation[1], is_behind ? 0 : window_line * p_.dilation[0],
                      full);
          channel += descriptors_.run;
          if (channel < p_.channels) continue;
          channel = 0;
          if (++window_column < p_.kernel[1]) continue;
          window_column = 0;
          ++window_line;
        }
        arrive(full);
        counter_.advance();
      }
      if (!has_addend_stage(p_)) continue;
      auto& stage = next_free();
      uint64_t* full = &shared_.full[counter_.stage()];
      expect(full, kRows * kColumns);
      copy_box(stage.data, descriptors_.addend, first_column, static_cast<int>(first_row), full);
      arrive(full);
      counter_.advance();
    }
  }

  // The first warpgroup.
  __device__ void load_tiles() {
    for (unsigned tile = blockIdx.x; tile < tiles_.count(); tile += gridDim.x) {
      const int64_t first_row = row_of(tile);
      const int first_column = column_of(tile);
      DataLoader<kRows, kWarpgroup, kDepth, false> data(p_, dividers_, first_row, tiles_.rows);
      for (int step = 0; step < steps_; ++step) {
        auto& stage = next_free();
        uint64_t* full = &shared_.full[counter_.stage()];
        if (threadIdx.x == 0) load_weights(stage.weights, step, first_column, full);
        data.load(stage.data);
        arrive_after_copies(full);
        counter_.advance();
      }
      if (!has_addend_stage(p_)) continue;
      load_addend(next_free().data, first_row, first_column);
      arrive_after_copies(&shared_.full[counter_.stage()]);
      counter_.advance();
    }
    wait_for_copies();
  }

  // Each of the others, which are counted from 0.
  __device__ __forceinline__ void make_tiles(int group) {
    const int of_tile = steps_ + (has_addend_stage(p_) ? 1 : 0);
    auto& table = shared_.tables[group];
    counter_.advance(group * of_tile);
    int column_of_table = -1;
    uint32_t order_parity = 0;
    const unsigned step = gridDim.x * kGroupsOfWarps;
    for (unsigned tile = blockIdx.x + static_cast<unsigned>(group) * gridDim.x;
         tile < tiles_.count(); tile += step) {
      const int first_column = column_of(tile);
      const bool fills_table = first_column != column_of_table;
      if (fills_table) {
        synchronize_warpgroup(group);  // the last tile is stored
        table.fill(p_, first_column, static_cast<int>(threadIdx.x) % kWarpgroup, kWarpgroup);
        column_of_table = first_column;
      }
      WarpSums<kBlocks, kGroups> sums;
      // A barrier tells a phase from the one before, not from earlier ones: a group waits for
      // stages once those of the tile before are there.
      wait(&shared_.order[group], order_parity ^ (group == 0 ? 1 : 0));
      order_parity ^= 1;
      uint64_t* next_in_order = &shared_.order[(group + 1) % kGroupsOfWarps];
      if constexpr (std::is_same_v<Sum, float>)
        multiply<__nv_fp8_e4m3>(sums, next_in_order);
      else if (p_.data_is_signed)
        multiply<int8_t>(sums, next_in_order);
      else
        multiply<uint8_t>(sums, next_in_order);
      if (fills_table) synchronize_warpgroup(group);
      const int warp = static_cast<int>(threadIdx.x) % kWarpgroup / 32;
      const bool has_stage = has_addend_stage(p_);
      store_sums<Sum>(
          p_, sums, tiles_.rows, first_column, 0,
          [&](int block) { return row_of(tile) + block * 64 + warp * 16; }, table,
          [&](const LaneUnit& unit, LaneBytes& bytes) {
            if (has_stage)
              take_addends(unit, bytes);
            else if (p_.epilogue.has_addend())
              load_addends(p_, unit, bytes);
          });
      if (has_stage) {
        __syncwarp();
        release(counter_.stage());
        counter_.advance();
      }
      counter_.advance((kGroupsOfWarps - 1) * of_tile);
    }
  }

 private:
  __device__ int64_t row_of(unsigned tile) const { return int64_t{tile / tiles_.across} * kRows; }
  __device__ int column_of(unsigned tile) const {
    return static_cast<int>(tile % tiles_.across) * kColumns;
  }

  // Of a slice. What lies behind the window zeros of the weights multiply, and is not loaded; but
  // zeros are for fp8, which has NaN.
  __device__ int runs_of(int step) const {
    const int all = kDepth / descriptors_.run, left = p_.depth() - step * kDepth;
    if constexpr (std::is_same_v<Sum, float>)
      return all;
    else
      return min(all, (left + descriptors_.run - 1) / descriptors_.run);
  }

  __device__ auto& next_free() {
    wait(&shared_.empty[counter_.stage()], counter_.parity() ^ 1);
    return shared_.stages[counter_.stage()];
  }
  __device__ void release(int stage) {
    if (threadIdx.x % 32 == 0) arrive(&shared_.empty[stage]);
  }

  __device__ void load_weights(uint8_t* to, int step, int first_column, uint64_t* full) const {
    const int padded = static_cast<int>(QuantizedGemm::padded(p_.output_channels));
    const auto* from =
        static_cast<const uint8_t*>(p_.weights) + (int64_t{step} * padded + first_column) * kDepth;
    const int bytes = min(kColumns, padded - first_column) * kDepth;
    expect(full, bytes);
    copy_bulk(to, from, bytes, full);
  }

  static constexpr int kAddendChunks = kColumns / kChunk;  // of a row
  __device__ void load_addend(uint8_t* to, int64_t first_row, int first_column) const {
    const auto* from = static_cast<const uint8_t*>(p_.epilogue.addend);
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < kRows * kAddendChunks; i += kWarpgroup) {
      const int row = i / kAddendChunks, chunk = i % kAddendChunks;
      const int column = first_column + chunk * kChunk;
      if (first_row + row >= tiles_.rows || column >= p_.output_channels) continue;
      copy_16(to + swizzled<kColumns>(row, chunk),
              from + (first_row + row) * p_.output_channels + column, true);
    }
  }
  __device__ void take_addends(const LaneUnit& unit, LaneBytes& bytes) const {
    const uint8_t* tile = shared_.stages[counter_.stage()].data;
    const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = unit.row_block * 64 + thread / 32 * 16 + r * 8 + thread % 32 / 4;
      set_bytes(bytes[r], *reinterpret_cast<const uint4*>(
                              tile + swizzled<kColumns>(row, unit.group * 4 + thread % 4)));
    }
  }

  template <class Data>
  __device__ __forceinline__ void multiply(WarpSums<kBlocks, kGroups>& sums,
                                           uint64_t* next_in_order) {
    for (int step = 0; step < steps_; ++step) {
      const int stage = counter_.stage();
      wait(&shared_.full[stage], counter_.parity());
      if (descriptors_.run == 0) publish_to_copies();
      const uint8_t* data = shared_.stages[stage].data;
      begin_products();
      const uint64_t b = describe(shared_.stages[stage].weights, kDepth);
#pragma unroll
      for (int block = 0; block < kBlocks; ++block)
#pragma unroll
        for (int part = 0; part < kDepth / kStep; ++part) {
          const int at = part * kStep, run = at / run_ * run_;
          const uint64_t a = describe(data + run * kRows + block * 64 * run_, run_);
          multiply_add_bytes<Data>(sums.values[block], a + (at - run >> 4), b + (at >> 4),
                                   part > 0 || step > 0);
        }
      end_products();
      if (step > 0) {
        wait_for_products<1>();
        release(last_);
      }
      last_ = stage;
      counter_.advance();
    }
    if (has_addend_stage(p_)) wait(&shared_.full[counter_.stage()], counter_.parity());
    if (threadIdx.x % kWarpgroup == 0) arrive(next_in_order);
    wait_for_products<0>();
#pragma unroll
    for (auto& block : sums.values) fence(block);
    release(last_);
  }

  const QuantizedGemm& p_;
  const TmaDescriptors& descriptors_;
  const Dividers& dividers_;
  const Tiles& tiles_;
  Memory& shared_;
  int run_, steps_, last_ = 0;
  StageCounter<kStages> counter_;
};

// Registers of a thread: a block has 65,536, and as many for each thread until they are shared out.
template <int kGroupsOfWarps> struct Registers {
  static constexpr int kAll =
      65536 / kWarpgroup / (1 + kGroupsOfWarps) / 8 * 8 * (1 + kGroupsOfWarps);
  static constexpr int kLoads = 72, kMakes = (kAll - kLoads) / kGroupsOfWarps / 8 * 8;
};

template <class Sum, int kRows, int kColumns, int kGroupsOfWarps, int kStages>
__global__ void __launch_bounds__((1 + kGroupsOfWarps) * kWarpgroup, 1)
    multiply(const __grid_constant__ QuantizedGemm p, const __grid_constant__ Dividers dividers,
             const __grid_constant__ Tiles tiles,
             const __grid_constant__ TmaDescriptors descriptors) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Own = Registers<kGroupsOfWarps>;
  extern __shared__ __align__(1024) uint8_t shared[];
  Block<Sum, kRows, kColumns, kGroupsOfWarps, kStages> block(
      p, dividers, tiles, descriptors,
      *reinterpret_cast<Shared<kRows, kColumns, kGroupsOfWarps, kStages>*>(shared));
  block.initialize_barriers();
  // The same in all lanes, as the compiler knows: wgmma must not stand where lanes may part.
  const int group = __shfl_sync(0xffffffff, static_cast<int>(threadIdx.x) / kWarpgroup, 0);
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Own::kLoads));
    if (descriptors.run > 0) {
      if (threadIdx.x == 0) block.load_tiles_by_tma();
    } else {
      block.load_tiles();
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Own::kMakes));
    block.make_tiles(group - 1);
  }
#endif
}

// The addend's tiles, swizzled as swizzled<kColumns>() has them.
bool describe_addend(const QuantizedGemm& p, const Tiles& tiles, int rows, int columns,
                     CUtensorMap& description) {
  return describe_boxes(description, CU_TENSOR_MAP_DATA_TYPE_UINT8, p.epilogue.addend,
                        {{p.output_channels, 1, columns}, {tiles.rows, p.output_channels, rows}},
                        columns);
}

// The windows of the data. TMA pads with zeros, and counts lines and columns of windows in 8 bits.
bool describe_data(const QuantizedGemm& p, int rows, int run, CUtensorMap& map) {
  static const auto encode =
      driver_function<decltype(cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col");
  constexpr int kMaxStride = 8;
  int lower[2], upper[2];
  for (int i = 0; i < 2; ++i) {
    const int axis = 1 - i;
    lower[i] = -p.pre[axis];
    upper[i] = lower[i] + (p.out[axis] - 1) * p.stride[axis] - (p.in[axis] - 1);
    const auto fits = [](int x) { return x >= -128 && x < 128; };
    if (!fits(lower[i]) || !fits(upper[i]) || p.stride[axis] > kMaxStride
        || (p.kernel[axis] - 1) * p.dilation[axis] > 255)
      return false;
  }
  const auto number = [](int64_t x) { return static_cast<cuuint64_t>(x); };
  const cuuint64_t extents[] = {number(p.channels), number(p.in[1]), number(p.in[0]),
                                number(p.images)};
  const cuuint64_t strides[] = {extents[0], extents[0] * extents[1],
                                extents[0] * extents[1] * extents[2]};
  const cuuint32_t steps[] = {1, static_cast<cuuint32_t>(p.stride[1]),
                              static_cast<cuuint32_t>(p.stride[0]), 1};
  const CUtensorMapSwizzle swizzle = run == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                     : run == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                                 : CU_TENSOR_MAP_SWIZZLE_32B;
  return encode != nullptr
         && encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 4, const_cast<void*>(p.data), extents,
                   strides, lower, upper, static_cast<cuuint32_t>(run),
                   static_cast<cuuint32_t>(rows), steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                   CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
                == CUDA_SUCCESS;
}

TmaDescriptors make_descriptors(const QuantizedGemm& p, const Tiles& tiles, int rows, int columns) {
  TmaDescriptors descriptors;
  const bool is_pointwise = p.kernel[0] == 1 && p.kernel[1] == 1;
  const auto is_padded = [&](int axis) {
    const int64_t last = int64_t{p.out[axis] - 1} * p.stride[axis]
                         + int64_t{p.kernel[axis] - 1} * p.dilation[axis] - p.pre[axis];
    return p.pre[axis] > 0 || last >= p.in[axis];
  };
  if ((is_padded(0) || is_padded(1)) && !p.pads_with_zeros) return descriptors;
  int run = kDepth;
  while (!is_pointwise && run >= kStep && p.channels % run != 0) run /= 2;
  if (run < kStep || !describe_data(p, rows, run, descriptors.data)) return descriptors;
  if (has_addend_stage(p) && !describe_addend(p, tiles, rows, columns, descriptors.addend))
    return descriptors;
  descriptors.run = run;
  return descriptors;
}

template <class Sum, int kRows, int kColumns, int kGroupsOfWarps, int kStages>
void launch_tile(const QuantizedGemm& p, cudaStream_t stream) {
  constexpr int kBytes = sizeof(Shared<kRows, kColumns, kGroupsOfWarps, kStages>);
  static_assert(kBytes <= 227 << 10);
  const auto kernel = multiply<Sum, kRows, kColumns, kGroupsOfWarps, kStages>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  const Tiles tiles(p, kRows, kColumns);
  const unsigned blocks = std::min(tiles.count(), static_cast<unsigned>(multiprocessors()));
  kernel<<<blocks, (1 + kGroupsOfWarps) * kWarpgroup, kBytes, stream>>>(
      p, Dividers(p), tiles, make_descriptors(p, tiles, kRows, kColumns));
}

template <class Sum> void launch_of_warpgroups(const QuantizedGemm& p, cudaStream_t stream) {
  switch (p.tile) {
    case QuantizedGemm::Tile::kWarpgroup128x128:
      return launch_tile<Sum, 128, 128, 2, 6>(p, stream);
    case QuantizedGemm::Tile::kWarpgroup128x64:
      return launch_tile<Sum, 128, 64, 3, 8>(p, stream);
    default:
      return launch_tile<Sum, 64, 64, 3, 12>(p, stream);
  }
}

}  // namespace
}  // namespace tenon::cuda
