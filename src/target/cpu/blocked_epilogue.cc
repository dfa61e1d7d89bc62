#include "target/cpu/blocked_epilogue.h"

#include <algorithm>

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;

constexpr size_t kFirstOperand = 3;

}  // namespace

std::optional<Bounds> bounds_of(const PointwiseProgram& program) {
  if (program.empty()) return Bounds();
  const PointwiseStep& step = program.steps[0];
  if (program.steps.size() != 1 || step.family != PointwiseStep::Family::kActivation || step.a != 0)
    return std::nullopt;
  const auto type = static_cast<ActivationType>(step.function);
  if (type == ActivationType::kRELU) return Bounds{.least = 0};
  if (type == ActivationType::kCLIP) return Bounds{step.alpha, step.beta};
  return std::nullopt;
}

BlockedEpilogue::BlockedEpilogue(const PointwiseProgram& program,
                                 std::span<const TensorSpec> inputs, const TensorSpec& output)
    : lanes_(output.layout == Layout::kChannelsLast ? std::max<int64_t>(output.shape[1], 1)
                                                    : channel_block(output.layout)),
      plane_(output.shape.volume(2, output.shape.rank())),
      blocks_((output.shape[1] + lanes_ - 1) / lanes_),
      used_(output.shape[1] - (blocks_ - 1) * lanes_) {
  const auto bounds = bounds_of(program);
  // Padding channels stay zeros.
  if (bounds && (used_ == lanes_ || (bounds->least <= 0 && bounds->most >= 0))) {
    bounds_ = *bounds;
    return;
  }
  std::vector<TensorSpec> specs = {output};
  if (inputs.size() > kFirstOperand)
    specs.insert(specs.end(), inputs.begin() + kFirstOperand, inputs.end());
  rest_ = prepare_pointwise(program, specs, output);
  inputs_.resize(specs.size());
}

void BlockedEpilogue::begin(const RunArguments& arguments) {
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
