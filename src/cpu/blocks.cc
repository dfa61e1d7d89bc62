#include "cpu/blocks.h"

#include <algorithm>

#include "base/parallel.h"
#include "cpu/pointwise.h"

namespace tenon::cpu {
namespace {

constexpr size_t kFirstOperand = 3;
/// Multiplications that are worth another thread.
constexpr double kGrain = 1 << 16;

}  // namespace

int64_t product_depth(int64_t depth, int64_t unit) {
  return block_depth(depth, simd_kernels().product_columns * int64_t{sizeof(float)},
                     this_machine().first_level, unit);
}

std::vector<TensorSpec> in_rows(std::span<const TensorSpec> specs) {
  std::vector<TensorSpec> out(specs.begin(), specs.end());
  for (TensorSpec& s : out) s.layout = Layout::kLinear;
  return out;
}

BlockExecution::BlockExecution(const PointwiseProgram& epilogue, std::span<const TensorSpec> inputs,
                               const TensorSpec& output) {
  if (epilogue.empty()) return;
  std::vector<TensorSpec> specs = {output};
  if (inputs.size() > kFirstOperand)
    specs.insert(specs.end(), inputs.begin() + kFirstOperand, inputs.end());
  tail_ = prepare_pointwise(epilogue, specs, output);
  tail_inputs_.resize(specs.size());
}

void BlockExecution::set_tasks(int64_t tasks, double work, int64_t floats, int64_t shared_floats) {
  tasks_ = tasks;
  const double useful = std::clamp<double>(work / kGrain, 1, thread_count());
  slots_ = std::clamp<int64_t>(tasks, 1, static_cast<int64_t>(useful));
  next_ = std::make_unique<Next[]>(static_cast<size_t>(slots_));
  floats_ = whole_panels(floats);
  fits_ = floats_ <= workspace_floats();
  if (fits_) reserve_thread_workspaces(slots_);
  shared_ = whole_panels(shared_floats);
}

size_t BlockExecution::scratch_bytes() const {
  return std::max(static_cast<size_t>(shared_ + (fits_ ? 0 : slots_ * floats_)) * sizeof(float),
                  tail_ ? tail_->scratch_bytes() : 0);
}

void BlockExecution::run(const RunArguments& arguments) {
  auto* const shared = static_cast<float*>(arguments.scratch);
  begin(arguments, shared);
  for (int64_t slot = 0; slot < slots_; ++slot)
    next_[slot].task = share_of(tasks_, slot, slots_).first;
  parallel_for(slots_, 1, [&](int64_t first, int64_t end) {
    if (fits_) {
      const ThreadWorkspace workspace;
      for (int64_t slot = first; slot < end; ++slot) run_slot(slot, workspace.floats());
    } else {
      for (int64_t slot = first; slot < end; ++slot)
        run_slot(slot, shared + shared_ + slot * floats_);
    }
  });
  if (!tail_) return;
  tail_inputs_[0] = arguments.outputs[0];
  std::copy_n(arguments.inputs.begin() + kFirstOperand, tail_inputs_.size() - 1,
              tail_inputs_.begin() + 1);
  tail_->run({tail_inputs_, arguments.outputs, arguments.scratch, arguments.stream});
}

// Its own tasks, then what is left of those of others.
void BlockExecution::run_slot(int64_t slot, float* workspace) {
  for (int64_t i = 0; i < slots_; ++i) {
    const int64_t owner = (slot + i) % slots_, end = share_of(tasks_, owner, slots_).end;
    // A look first: those that are done would be written by all others.
    for (auto& next = next_[owner].task; next < end;)
      if (const int64_t task = next++; task < end) run_task(task, workspace);
  }
}

}  // namespace tenon::cpu
