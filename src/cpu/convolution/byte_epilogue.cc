#include "cpu/convolution/byte_epilogue.h"

#include <optional>

#include "cpu/convolution/integer_results.h"

namespace tenon::cpu {
namespace {

// Of a program whose last step divides what the step before it gives by a constant.
std::optional<float> last_divisor(const PointwiseProgram& program) {
  if (program.steps.size() < 2) return std::nullopt;
  const PointwiseStep& last = program.steps.back();
  const int32_t constant = last.b - program.constant_register(0);
  const bool divides =
      last.family == PointwiseStep::Family::kElementWise
      && last.function == static_cast<int32_t>(nvinfer1::ElementWiseOperation::kDIV)
      && last.a == program.step_register(program.steps.size() - 2) && constant >= 0
      && constant < std::ssize(program.constants);
  if (!divides) return std::nullopt;
  return program.constants[static_cast<size_t>(constant)];
}

}  // namespace

ByteEpilogue::ByteEpilogue(const QuantizedConvolution& op, DataType operand, int64_t numbers)
    : numbers_(numbers), inputs_(static_cast<size_t>(op.epilogue_inputs())) {
  operand_scale_.flip = flip_of(operand);
  operand_scale_.zero = static_cast<float>(op.operand.zero + operand_scale_.flip);
  operand_scale_.scale = op.operand.scale;
  if (op.epilogue.empty()) return;
  PointwiseProgram program = op.epilogue;
  if (const auto divisor = last_divisor(program)) {
    program.steps.pop_back();
    divisor_ = *divisor;
  }
  const TensorSpec row{DataType::kFLOAT, Layout::kLinear, {numbers}, true};
  const TensorSpec rows[] = {row, row};
  loop_ = prepare_pointwise(program, std::span(rows).first(inputs_), row);
}

void ByteEpilogue::run(float* numbers, int64_t count) const {
  const void* const inputs[] = {numbers, numbers + numbers_};
  loop_->run_range(std::span(inputs).first(inputs_), numbers, 0, count);
}

ByteResult as_floats(const ByteResult& result) {
  ByteResult floats = result;
  floats.to = ByteResult::To::kFloat;
  return floats;
}

}  // namespace tenon::cpu
