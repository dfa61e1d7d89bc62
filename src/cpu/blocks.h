// What our own kernels of convolutions share: how their work divides, blocks of channels, and
// executions in blocks of pixels, each a task with scratch memory of its own.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "backend/target.h"
#include "base/parallel.h"
#include "cpu/partition.h"
#include "cpu/simd/kernels.h"
#include "cpu/thread_workspace.h"
#include "ops/support/pointwise_program.h"
#include "ops/support/window.h"

namespace tenon::cpu {

/// Columns filled up to whole panels of SimdKernels::add_product.
inline int64_t whole_panels(int64_t columns) {
  return units(columns, kProductPanel) * kProductPanel;
}

/// The layout of blocks of so many channels, 8 or 16.
inline Layout blocked_layout(int channels) {
  return channels == 8 ? Layout::kBlocked8 : Layout::kBlocked16;
}

/// Elements that SimdKernels::add_product sums up before the next ones, in whole units: what it
/// multiplies together stays in the L1 cache meanwhile.
int64_t product_depth(int64_t depth, int64_t unit);

/// The same tensors, in rows.
std::vector<TensorSpec> in_rows(std::span<const TensorSpec> specs);

/// Runs tasks, then the epilogue. A thread gets neighbouring tasks, so that it finds in its caches
/// what it wrote for the layer before, and then helps others. Input 2 is the bias, inputs from 3 on
/// are the operands of the epilogue, which runs over the whole result, in linear layout; kernels
/// that do theirs within their tasks give none.
class BlockExecution : public Execution {
 public:
  size_t scratch_bytes() const final;
  void run(const RunArguments& arguments) final;

 protected:
  BlockExecution(const PointwiseProgram& epilogue, std::span<const TensorSpec> inputs,
                 const TensorSpec& output);

  /// Tells, once, how many tasks there are, about how many multiplications they take together, the
  /// floats of scratch memory of each, and the floats that all share.
  void set_tasks(int64_t tasks, double work, int64_t floats, int64_t shared_floats = 0);
  /// Before the tasks of a run; `shared` are the floats that all share.
  virtual void begin(const RunArguments& arguments, float* shared) = 0;
  virtual void run_task(int64_t task, float* workspace) const = 0;

 private:
  // The next of a slot's tasks, on a cache line of its own.
  struct alignas(64) Next {
    std::atomic<int64_t> task;
  };
  void run_slot(int64_t slot, float* workspace);

  int64_t tasks_ = 0, slots_ = 0, floats_ = 0, shared_ = 0;
  bool fits_ = true;  // a task in a thread workspace
  std::unique_ptr<Next[]> next_;
  std::unique_ptr<Execution> tail_;
  std::vector<const void*> tail_inputs_;
};

}  // namespace tenon::cpu
