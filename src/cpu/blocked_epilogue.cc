#include "cpu/blocked_epilogue.h"

#include <algorithm>

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;

constexpr size_t kFirstOperand = 3;

/// The bounds that steps from `first` on keep register `value` within, if that is all they do.
std::optional<Bounds> bounds_of(const PointwiseProgram& program, size_t first, int32_t value) {
  if (program.steps.size() == first) return Bounds();
  const PointwiseStep& step = program.steps[first];
  if (program.steps.size() != first + 1 || step.family != PointwiseStep::Family::kActivation
      || step.a != value)
    return std::nullopt;
  const auto type = static_cast<ActivationType>(step.function);
  if (type == ActivationType::kRELU) return Bounds{.lower = 0};
  if (type == ActivationType::kCLIP) return Bounds{step.alpha, step.beta};
  return std::nullopt;
}

/// The operand whose sum with register 0 is the first step's result; 0 for none.
int32_t added_operand(const PointwiseProgram& program) {
  if (program.empty()) return 0;
  const PointwiseStep& step = program.steps[0];
  if (step.family != PointwiseStep::Family::kElementWise
      || step.function != static_cast<int32_t>(ElementWiseOperation::kSUM)
      || std::min(step.a, step.b) != 0)
    return 0;
  const int32_t operand = std::max(step.a, step.b);
  return operand < program.inputs ? operand : 0;
}

}  // namespace

std::optional<Bounds> bounds_of(const PointwiseProgram& program) {
  return bounds_of(program, 0, 0);
}

BlockedEpilogue::BlockedEpilogue(const PointwiseProgram& program,
                                 std::span<const TensorSpec> inputs, const TensorSpec& output,
                                 LoopDoes does)
    : lanes_(output.layout == Layout::kChannelsLast ? std::max<int64_t>(output.shape[1], 1)
                                                    : channel_block(output.layout)),
      plane_(output.shape.volume(2, output.shape.rank())),
      blocks_((output.shape[1] + lanes_ - 1) / lanes_),
      used_(output.shape[1] - (blocks_ - 1) * lanes_) {
  if (loop_takes(program, inputs, output, does)) return;
  std::vector<TensorSpec> specs = {output};
  if (inputs.size() > kFirstOperand)
    specs.insert(specs.end(), inputs.begin() + kFirstOperand, inputs.end());
  rest_ = prepare_pointwise(program, specs, output);
  inputs_.resize(specs.size());
}

// Gives the loop all of the program, if it can do it.
bool BlockedEpilogue::loop_takes(const PointwiseProgram& program,
                                 std::span<const TensorSpec> inputs, const TensorSpec& output,
                                 LoopDoes does) {
  const int32_t operand = does == LoopDoes::kSumAndBounds ? added_operand(program) : 0;
  const auto bounds =
      operand > 0 ? bounds_of(program, 1, program.step_register(0)) : bounds_of(program);
  // Padding channels stay zeros.
  if (!bounds || (used_ != lanes_ && (bounds->lower > 0 || bounds->upper < 0))) return false;
  if (operand > 0) {
    const size_t input = kFirstOperand + static_cast<size_t>(operand) - 1;
    if (input >= inputs.size() || inputs[input].shape != output.shape
        || inputs[input].layout != output.layout)
      return false;
    added_ = input;
  }
  bounds_ = *bounds;
  return true;
}

void BlockedEpilogue::begin(const RunArguments& arguments) {
  if (added_ > 0) addend_ = static_cast<const float*>(arguments.inputs[added_]);
  if (rest_ == nullptr) return;
  result_ = static_cast<float*>(arguments.outputs[0]);
  inputs_[0] = result_;
  std::copy_n(arguments.inputs.begin() + kFirstOperand, inputs_.size() - 1, inputs_.begin() + 1);
}

void BlockedEpilogue::run(int64_t block, int64_t first, int64_t pixels) const {
  if (rest_ == nullptr) return;
  const int64_t at = (block * plane_ + first) * lanes_;
  rest_->run_range(inputs_, result_, at, pixels * lanes_);
  if (used_ == lanes_ || (block + 1) % blocks_ != 0) return;
  for (int64_t i = 0; i < pixels; ++i)
    std::fill_n(result_ + at + i * lanes_ + used_, lanes_ - used_, 0.f);
}

}  // namespace tenon::cpu
