// How the blocks of a product by wgmma share out shared memory, stages and tiles.
#pragma once

#include <algorithm>

#include "cuda/quantized_gemm_descriptors.cuh"

namespace tenon::cuda {
namespace {

// What each of a block's warpgroups makes at a time. They make tiles in turn, so that one
// multiplies while others store; or together, of neighbouring rows, so that all read the same
// weights, and each falls behind the others as far as stages reach while it stores.
template <int kTileRows, int kTileColumns, int kGroupsOfWarps, bool kAreTogether> struct Form {
  static constexpr int kRows = kTileRows, kColumns = kTileColumns, kGroups = kGroupsOfWarps;
  static constexpr bool kTogether = kAreTogether;
  static constexpr int kBlockRows = kTogether ? kRows * kGroups : kRows;
  static constexpr int kDataBytes = kBlockRows * kDepth, kWeightsBytes = kColumns * kDepth;
};

constexpr int kMaxStages = 16;

// What a block keeps in shared memory. `operands` are cut as OperandMemory tells.
template <class Form> struct Shared {
  struct Rest {
    ChannelTable<Form::kColumns> tables[Form::kGroups];
    uint64_t full[kMaxStages], empty[kMaxStages];
    uint64_t order[Form::kGroups];  // in which they multiply
  };
  static constexpr int kAll = 227 << 10, kSwizzled = 1024;  // a swizzle's period
  static constexpr int kOperandBytes =
      (kAll - static_cast<int>(sizeof(Rest))) / kSwizzled * kSwizzled;
  uint8_t operands[kOperandBytes];
  Rest rest;
};

// Stages hold a slice of a tile's data, in turn, and of its weights; where the weights of all
// slices fit beside some stages, they stay there for all tiles of their columns. A tile of the
// addend has a stage, too, in which rows are swizzled as in a slice.
struct OperandMemory {
  bool keeps_weights;
  int stages;
  int data, data_step;        // where the first slice lies, and bytes to the next
  int weights, weights_step;  // the same

  template <class Form> static OperandMemory of(const QuantizedGemm& p, Form) {
    constexpr int kBytes = Shared<Form>::kOperandBytes, kFewest = 4;
    const int slices = (p.depth() + kDepth - 1) / kDepth;
    const int kept = slices * Form::kWeightsBytes;
    const int beside = (kBytes - kept) / Form::kDataBytes;
    if (kept < kBytes && beside >= kFewest)
      return {true, std::min(beside, kMaxStages), kept, Form::kDataBytes, 0, Form::kWeightsBytes};
    constexpr int kStage = Form::kDataBytes + Form::kWeightsBytes;
    return {false, std::min(kBytes / kStage, kMaxStages), 0, kStage, Form::kDataBytes, kStage};
  }
};

// Stages in the order in which they are used, again and again.
class Ring {
 public:
  __device__ explicit Ring(int stages) : stages_(stages) {}
  __device__ int stage() const { return at_; }
  __device__ uint32_t parity() const { return parity_; }
  __device__ void advance() { advance({0, 1}); }

  // So many stages at once, which are divided once.
  struct Stride {
    int rounds, stages;
  };
  __device__ Stride stride(int count) const { return {count / stages_, count % stages_}; }
  __device__ void advance(const Stride& by) {
    at_ += by.stages;
    parity_ ^= static_cast<uint32_t>(by.rounds) & 1;
    if (at_ < stages_) return;
    at_ -= stages_;
    parity_ ^= 1;
  }

 private:
  int stages_, at_ = 0;
  uint32_t parity_ = 0;
};

// A block's tiles, of which a warpgroup has every so many. Where weights stay it has neighbours of
// the same columns, else blocks that run at the same time have neighbours of the same rows.
class OwnTiles {
 public:
  __device__ OwnTiles(const Tiles& tiles, bool down_columns, int first, int every)
      : down_columns_(down_columns),
        line_(down_columns ? static_cast<unsigned>(tiles.down) : tiles.across) {
    const unsigned count = tiles.count();
    const auto share = [&](unsigned block) {
      return static_cast<unsigned>(uint64_t{count} * block / gridDim.x);
    };
    const unsigned apart = down_columns ? 1 : gridDim.x;
    const unsigned begin =
        (down_columns ? share(blockIdx.x) : blockIdx.x) + static_cast<unsigned>(first) * apart;
    const unsigned end = down_columns ? share(blockIdx.x + 1) : count;
    const unsigned step = static_cast<unsigned>(every) * apart;
    left_ = begin < end ? (end - begin + step - 1) / step : 0;
    lines_ = begin / line_;
    in_line_ = begin % line_;
    step_lines_ = step / line_;
    step_in_line_ = step % line_;
  }
  __device__ bool is_there() const { return left_ > 0; }
  __device__ void next() {
    --left_;
    lines_ += step_lines_;
    in_line_ += step_in_line_;
    if (in_line_ < line_) return;
    in_line_ -= line_;
    ++lines_;
  }
  __device__ unsigned row() const { return down_columns_ ? in_line_ : lines_; }
  __device__ int column() const { return static_cast<int>(down_columns_ ? lines_ : in_line_); }

 private:
  bool down_columns_;
  unsigned line_, left_, lines_, in_line_, step_lines_, step_in_line_;
};

}  // namespace
}  // namespace tenon::cuda
