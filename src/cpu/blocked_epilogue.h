// The epilogue of a convolution whose result is written part by part.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cpu/pointwise.h"

namespace tenon::cpu {

/// What a loop keeps its results within.
struct Bounds {
  float lower = -std::numeric_limits<float>::infinity();
  float upper = std::numeric_limits<float>::infinity();
};
/// Those of no program, a ReLU or a clip; nothing for others.
std::optional<Bounds> bounds_of(const PointwiseProgram& program);

/// What a loop does itself: it keeps its results within bounds, and may first add a tensor of the
/// result's shape and layout.
enum class LoopDoes { kBounds, kSumAndBounds };

/// A loop does some of it; whatever else is computed for each part of the result just after it was
/// written.
class BlockedEpilogue {
 public:
  /// @param inputs those of the layer: operands are from 3 on. `output` lies in blocks of channels,
  /// or channels last, which counts as one block, or in rows, whose elements count as pixels from
  /// those of block 0 on.
  BlockedEpilogue(const PointwiseProgram& program, std::span<const TensorSpec> inputs,
                  const TensorSpec& output, LoopDoes does = LoopDoes::kBounds);

  float lower() const { return bounds_.lower; }
  float upper() const { return bounds_.upper; }
  /// What the loop adds in the run that is under way; null for nothing.
  const float* addend() const { return addend_; }
  /// Whether there is more to compute than the loop does.
  bool has_rest() const { return rest_ != nullptr; }
  /// Before the parts of a run.
  void begin(const RunArguments& arguments);
  /// What is left to do for `pixels` results from `first` on, of one block of channels. Blocks are
  /// counted through all images. Padding channels are zeros before and after.
  void run(int64_t block, int64_t first, int64_t pixels) const;

 private:
  bool loop_takes(const PointwiseProgram& program, std::span<const TensorSpec> inputs,
                  const TensorSpec& output, LoopDoes does);

  Bounds bounds_;
  size_t added_ = 0;  // the input that the loop adds; 0 for none
  const float* addend_ = nullptr;
  std::unique_ptr<PointwiseLoop> rest_;
  std::vector<const void*> inputs_;
  float* result_ = nullptr;
  int64_t lanes_, plane_, blocks_;  // channels of a block; pixels; blocks of an image
  int64_t used_;                    // channels of an image's last block
};

}  // namespace tenon::cpu
