// The products by wgmma, whose operands are read from shared memory by a group of four warps.
// Blocks are persistent and their warpgroups specialized: the first one loads, the others multiply
// and store.
#pragma once

#include <algorithm>

#include "cuda/asynchronous_copies.cuh"
#include "cuda/capability.h"
#include "cuda/quantized_gemm_stages.cuh"
#include "cuda/warpgroup_products.cuh"

namespace tenon::cuda {
namespace {

template <class Sum, class Form> class Block {
  static constexpr int kRows = Form::kRows, kBlockRows = Form::kBlockRows;
  static constexpr int kColumns = Form::kColumns, kGroups = Form::kGroups;
  static constexpr bool kIsFloat = std::is_same_v<Sum, float>;
  using Sums = WarpSums<kRows / 64, kColumns / kGroup>;

 public:
  __device__ Block(const QuantizedGemm& p, const Dividers& dividers, const Tiles& tiles,
                   const OperandMemory& memory, const TmaDescriptors& descriptors,
                   Shared<Form>& shared)
      : p_(p),
        descriptors_(descriptors),
        dividers_(dividers),
        tiles_(tiles),
        memory_(memory),
        operands_(shared.operands),
        shared_(shared.rest),
        steps_((p.depth() + kDepth - 1) / kDepth),
        ring_(memory.stages) {
    // It stays in a register then, while threadIdx is read slowly each time.
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane_));
  }

  // All threads of the block.
  __device__ void initialize_barriers() {
    if (threadIdx.x == 0) {
      for (int i = 0; i < memory_.stages; ++i) {
        initialize(&shared_.full[i], descriptors_.run > 0 ? 1 : kWarpgroup);
        initialize(&shared_.empty[i], (Form::kTogether ? kGroups : 1) * kWarpgroup / 32);
      }
      for (uint64_t& barrier : shared_.order) initialize(&barrier, 1);
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
  }

  // One thread. It is all that tiles of few slices wait for.
  __device__ void load_tiles_by_tma() {
    for (OwnTiles tile = own_tiles(0, 1); tile.is_there(); tile.next()) {
      const int64_t first_row = int64_t{tile.row()} * kBlockRows;
      const int first_column = tile.column() * kColumns;
      const int weights = needs_weights(first_column) ? weights_bytes(first_column) : 0;
      Window window(*this, first_row);
      for (int step = 0; step < steps_; ++step) {
        uint8_t* to = next_free();
        uint64_t* full = &shared_.full[ring_.stage()];
        const int runs = step < steps_ - 1 ? descriptors_.runs : descriptors_.last_runs;
        arrive_and_expect(full, weights + runs * kBlockRows * descriptors_.run);
        if (weights > 0) load_weights(step, first_column, weights, full);
        if (descriptors_.is_matrix)
          copy_box(to, descriptors_.data, step * kDepth, static_cast<int>(first_row), full);
        else
          window.load(to, runs, full);
        ring_.advance();
      }
      if (!has_addend_stage(p_)) continue;
      uint8_t* to = next_free();
      uint64_t* full = &shared_.full[ring_.stage()];
      arrive_and_expect(full, kBlockRows * kColumns);
      copy_box(to, descriptors_.addend, first_column, static_cast<int>(first_row), full);
      ring_.advance();
    }
  }

  // The first warpgroup.
  __device__ void load_tiles() {
    for (OwnTiles tile = own_tiles(0, 1); tile.is_there(); tile.next()) {
      const int64_t first_row = int64_t{tile.row()} * kBlockRows;
      const int first_column = tile.column() * kColumns;
      const bool loads_weights = needs_weights(first_column) && threadIdx.x == 0;
      DataLoader<kBlockRows, kWarpgroup, kDepth, false> data(p_, dividers_, first_row, tiles_.rows);
      for (int step = 0; step < steps_; ++step) {
        uint8_t* to = next_free();
        uint64_t* full = &shared_.full[ring_.stage()];
        if (loads_weights) {
          const int bytes = weights_bytes(first_column);
          expect(full, bytes);
          load_weights(step, first_column, bytes, full);
        }
        data.load(to);
        arrive_after_copies(full);
        ring_.advance();
      }
      if (!has_addend_stage(p_)) continue;
      load_addend(next_free(), first_row, first_column);
      arrive_after_copies(&shared_.full[ring_.stage()]);
      ring_.advance();
    }
    wait_for_copies();
  }

  // Each of the others, which are counted from 0.
  __device__ __forceinline__ void make_tiles(int group) {
    const bool has_stage = has_addend_stage(p_);
    const int of_tile = steps_ + (has_stage ? 1 : 0);
    const int first = Form::kTogether ? 0 : group, every = Form::kTogether ? 1 : kGroups;
    row_in_block_ = Form::kTogether ? group * kRows : 0;
    auto& table = shared_.tables[group];
    ring_.advance(ring_.stride(first * of_tile));
    const Ring::Stride others = ring_.stride((every - 1) * of_tile);
    int column_of_table = -1;
    uint32_t order_parity = 0;
    for (OwnTiles tile = own_tiles(first, every); tile.is_there(); tile.next()) {
      const int first_column = tile.column() * kColumns;
      const bool fills_table = first_column != column_of_table;
      if (fills_table) {
        synchronize_warpgroup(group);  // the last tile is stored
        table.fill(p_, first_column, static_cast<int>(threadIdx.x) % kWarpgroup, kWarpgroup);
        column_of_table = first_column;
      }
      Sums sums;
      if constexpr (!Form::kTogether) {
        // A barrier tells a phase from the one before, not from earlier ones: a group waits for
        // stages once those of the tile before are there.
        wait(&shared_.order[group], order_parity ^ (group == 0 ? 1 : 0));
        order_parity ^= 1;
      }
      if constexpr (kIsFloat)
        multiply_runs<__nv_fp8_e4m3>(sums, group);
      else if (p_.data_is_signed)
        multiply_runs<int8_t>(sums, group);
      else
        multiply_runs<uint8_t>(sums, group);
      if (fills_table) synchronize_warpgroup(group);
      const unsigned first_row =
          tile.row() * kBlockRows + static_cast<unsigned>(row_in_block_ + warp_row());
      store_sums<Sum>(
          p_, sums, tiles_.rows, first_column, 0,
          [&](int block) { return first_row + static_cast<unsigned>(block) * 64; }, table,
          [&](const LaneUnit& unit, LaneBytes& bytes) {
            if (has_stage)
              take_addends(unit, bytes);
            else if (p_.epilogue.has_addend())
              load_addends(p_, unit, bytes);
          });
      if (has_stage) {
        __syncwarp();
        release(ring_.stage());
        ring_.advance();
      }
      ring_.advance(others);
    }
  }

 private:
  __device__ OwnTiles own_tiles(int first, int every) const {
    return OwnTiles(tiles_, memory_.keeps_weights, first, every);
  }

  // Elements of the windows of a tile's rows, one after the other.
  class Window {
   public:
    __device__ Window(const Block& block, int64_t first_row) : block_(block) {
      const QuantizedGemm& p = block.p_;
      auto rest = static_cast<uint32_t>(first_row);
      column_ = static_cast<int>(block.dividers_.columns.split(rest)) * p.stride[1] - p.pre[1];
      line_ = static_cast<int>(block.dividers_.lines.split(rest)) * p.stride[0] - p.pre[0];
      image_ = static_cast<int>(rest);
    }
    // So many runs.
    __device__ void load(uint8_t* to, int runs, uint64_t* full) {
      const QuantizedGemm& p = block_.p_;
      const TmaDescriptors& descriptors = block_.descriptors_;
#pragma unroll 1
      for (; runs > 0; --runs, to += kBlockRows * descriptors.run) {
        // TMA gives zeros for channels that are not there.
        const bool is_behind = in_window_[0] >= p.kernel[0];
        copy_im2col(to, descriptors.data, is_behind ? p.channels : channel_, column_, line_, image_,
                    in_window_[1] * p.dilation[1], is_behind ? 0 : in_window_[0] * p.dilation[0],
                    full);
        channel_ += descriptors.run;
        if (channel_ < p.channels) continue;
        channel_ = 0;
        if (++in_window_[1] < p.kernel[1]) continue;
        in_window_[1] = 0;
        ++in_window_[0];
      }
    }

   private:
    const Block& block_;
    int image_, line_, column_;
    int channel_ = 0, in_window_[2] = {};
  };

  __device__ uint8_t* data_of(int stage) const {
    return operands_ + memory_.data + stage * memory_.data_step;
  }
  __device__ uint8_t* weights_of(int step) const {
    const int i = memory_.keeps_weights ? step : ring_.stage();
    return operands_ + memory_.weights + i * memory_.weights_step;
  }

  // The data of a stage that no one reads.
  __device__ uint8_t* next_free() const {
    wait(&shared_.empty[ring_.stage()], ring_.parity() ^ 1);
    return data_of(ring_.stage());
  }
  __device__ void release(int stage) {
    if (lane_ == 0) arrive(&shared_.empty[stage]);
  }

  // Whether a tile's weights are not there. No one reads those of other columns then.
  __device__ bool needs_weights(int first_column) {
    if (!memory_.keeps_weights) return true;
    if (first_column == kept_column_) return false;
    kept_column_ = first_column;
    for (int i = 0; i < memory_.stages; ++i) {
      next_free();
      ring_.advance();
    }
    ring_.advance({1, 0});
    return true;
  }

  // Of a slice.
  __device__ int weights_bytes(int first_column) const {
    const auto padded = static_cast<int>(QuantizedGemm::padded(p_.output_channels));
    return min(kColumns, padded - first_column) * kDepth;
  }
  __device__ void load_weights(int step, int first_column, int bytes, uint64_t* full) const {
    const int64_t padded = QuantizedGemm::padded(p_.output_channels);
    const auto* from = static_cast<const uint8_t*>(p_.weights);
    copy_bulk(weights_of(step), from + (step * padded + first_column) * kDepth, bytes, full);
  }

  static constexpr int kAddendChunks = kColumns / kChunk;  // of a row
  __device__ void load_addend(uint8_t* to, int64_t first_row, int first_column) const {
    const auto* from = static_cast<const uint8_t*>(p_.epilogue.addend);
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < kBlockRows * kAddendChunks; i += kWarpgroup) {
      const int row = i / kAddendChunks, chunk = i % kAddendChunks;
      const int column = first_column + chunk * kChunk;
      if (first_row + row >= tiles_.rows || column >= p_.output_channels) continue;
      copy_16(to + swizzled<kColumns>(row, chunk),
              from + (first_row + row) * p_.output_channels + column, true);
    }
  }
  // Of those that a group multiplies at a time.
  __device__ static int warp_row() { return thread_now() % kWarpgroup / 32 * 16; }
  __device__ void take_addends(const LaneUnit& unit, LaneBytes& bytes) const {
    const uint8_t* tile = data_of(ring_.stage());
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = row_in_block_ + unit.row_block * 64 + warp_row() + r * 8 + unit.thread / 4;
      set_bytes(bytes[r], *reinterpret_cast<const uint4*>(
                              tile + swizzled<kColumns>(row, unit.group * 4 + unit.thread % 4)));
    }
  }

  // Begins to multiply the slice of a stage that is there, of whose rows so many bytes lie
  // together; added to sums where `adds`.
  template <class Data, int kRun>
  __device__ __forceinline__ void multiply_slice(Sums& sums, int step, bool adds) const {
    if (descriptors_.run == 0) publish_to_copies();
    const uint64_t a = describe(data_of(ring_.stage()) + row_in_block_ * kRun, kRun);
    const uint64_t b = describe(weights_of(step), kDepth);
    begin_products();
#pragma unroll
    for (int block = 0; block < kRows / 64; ++block)
#pragma unroll
      for (int part = 0; part < kDepth / kStep; ++part) {
        const int at = part * kStep, run = at / kRun * kRun;
        const int from = run * kBlockRows + block * 64 * kRun + at - run;
        multiply_add_bytes<Data>(sums.values[block], a + (from >> 4), b + (at >> 4),
                                 part > 0 || adds);
      }
    end_products();
  }

  // Of all slices.
  template <class Data> __device__ __forceinline__ void multiply_runs(Sums& sums, int group) {
    if (descriptors_.run == kDepth / 2) return multiply<Data, kDepth / 2>(sums, group);
    if (descriptors_.run == kStep) return multiply<Data, kStep>(sums, group);
    multiply<Data, kDepth>(sums, group);
  }
  template <class Data, int kRun> __device__ __forceinline__ void multiply(Sums& sums, int group) {
    int last = 0;
    [[maybe_unused]] Sums slice;
    if constexpr (kIsFloat) clear(sums);
    for (int step = 0; step < steps_; ++step) {
      const int stage = ring_.stage();
      wait(&shared_.full[stage], ring_.parity());
      if constexpr (kIsFloat) {
        // Tensor cores keep few bits of sums: those of a slice are added in float32.
        multiply_slice<Data, kRun>(slice, step, false);
        finalize(slice);
        add(slice, sums);
        if (step > 0) release(last);
      } else {
        multiply_slice<Data, kRun>(sums, step, step > 0);
        if (step > 0) {
          wait_for_products<1>();
          release(last);
        }
      }
      last = stage;
      ring_.advance();
    }
    if (has_addend_stage(p_)) wait(&shared_.full[ring_.stage()], ring_.parity());
    if (!Form::kTogether && threadIdx.x % kWarpgroup == 0)
      arrive(&shared_.order[(group + 1) % kGroups]);
    if constexpr (!kIsFloat) finalize(sums);
    release(last);
  }

  __device__ static void finalize(Sums& sums) {
    wait_for_products<0>();
#pragma unroll
    for (auto& block : sums.values) fence(block);
  }
  __device__ static void clear(Sums& sums) {
#pragma unroll
    for (auto& block : sums.values)
#pragma unroll
      for (auto& four : block)
#pragma unroll
        for (int32_t& sum : four) sum = 0;
  }
  // Bits of floats.
  __device__ static void add(const Sums& slice, Sums& sums) {
#pragma unroll
    for (int block = 0; block < kRows / 64; ++block)
#pragma unroll
      for (int i = 0; i < kColumns / 8; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          int32_t& sum = sums.values[block][i][j];
          sum = __float_as_int(__int_as_float(sum) + __int_as_float(slice.values[block][i][j]));
        }
  }

  const QuantizedGemm& p_;
  const TmaDescriptors& descriptors_;
  const Dividers& dividers_;
  const Tiles& tiles_;
  const OperandMemory& memory_;
  uint8_t* operands_;
  typename Shared<Form>::Rest& shared_;
  int lane_, steps_, kept_column_ = -1, row_in_block_ = 0;
  Ring ring_;
};

// Registers of a thread: a block has 65,536, and as many for each thread until they are shared out.
template <int kGroupsOfWarps> struct Registers {
  static constexpr int kAll =
      65536 / kWarpgroup / (1 + kGroupsOfWarps) / 8 * 8 * (1 + kGroupsOfWarps);
  static constexpr int kLoads = 72, kMakes = (kAll - kLoads) / kGroupsOfWarps / 8 * 8;
};

template <class Sum, class Form>
__global__ void __launch_bounds__((1 + Form::kGroups) * kWarpgroup, 1)
    multiply(const __grid_constant__ QuantizedGemm p, const __grid_constant__ Dividers dividers,
             const __grid_constant__ Tiles tiles, const __grid_constant__ OperandMemory memory,
             const __grid_constant__ TmaDescriptors descriptors) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Own = Registers<Form::kGroups>;
  extern __shared__ __align__(1024) uint8_t shared[];
  Block<Sum, Form> block(p, dividers, tiles, memory, descriptors,
                         *reinterpret_cast<Shared<Form>*>(shared));
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

template <class Sum, class Form> void launch_form(const QuantizedGemm& p, cudaStream_t stream) {
  constexpr int kBytes = sizeof(Shared<Form>);
  const auto kernel = multiply<Sum, Form>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  const Tiles tiles(p, Form::kBlockRows, Form::kColumns);
  const unsigned blocks = std::min(tiles.count(), static_cast<unsigned>(multiprocessors()));
  kernel<<<blocks, (1 + Form::kGroups) * kWarpgroup, kBytes, stream>>>(
      p, Dividers(p), tiles, OperandMemory::of(p, Form()),
      make_descriptors(p, tiles, Form::kBlockRows, Form::kColumns));
}

}  // namespace
}  // namespace tenon::cuda
