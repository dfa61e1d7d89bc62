// Element-wise programs as loops over blocks that stay in the L1 cache.
#pragma once

#include "backend/target.h"
#include "ops/support/pointwise_program.h"

namespace tenon::cpu {

/// A program made ready, which other kernels may run on parts of their result.
class PointwiseLoop : public Execution {
 public:
  /// Elements [first, first + count) of the output, in the order in which they lie, on the calling
  /// thread. Padding channels are not cleared.
  virtual void run_range(std::span<const void* const> inputs, float* output, int64_t first,
                         int64_t count) const = 0;
};

/// Registers that a loop holds in memory at a time, at most: 48 KB of stack.
constexpr size_t kPointwiseSlots = 24;
/// Whether a program needs no more, even if each of its registers lives to the end.
inline bool fits_in_slots(const PointwiseProgram& program) {
  const auto inputs = static_cast<size_t>(program.inputs);
  return inputs + program.constants.size() + program.steps.size() <= kPointwiseSlots;
}

/// The program over float tensors. Inputs of the output's shape lie in the output's layout, all
/// others in rows and are broadcast; input 0 may be the output itself. Padding channels become
/// zero.
std::unique_ptr<PointwiseLoop> prepare_pointwise(const PointwiseProgram& program,
                                                 std::span<const TensorSpec> inputs,
                                                 const TensorSpec& output);

}  // namespace tenon::cpu
