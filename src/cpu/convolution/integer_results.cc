#include "cpu/convolution/integer_results.h"

namespace tenon::cpu {
namespace {

using In = QuantizedInputs;

ByteRounding rounding_of(DataType to, const ResultBounds& bounds, int32_t zero) {
  const IntegerRange range = bounds.of(to);
  return {static_cast<float>(range.lowest - zero), static_cast<float>(range.highest - zero), zero,
          to == DataType::kINT8};
}

}  // namespace

ByteSum byte_sum(const QuantizedSum& sum, DataType addend) {
  ByteSum made{};
  made.flip = flip_of(addend);
  made.addend_zero = sum.addend_zero + made.flip;
  made.product_scale = sum.product_scale;
  made.addend_scale = sum.addend_scale;
  made.scale = sum.scale;
  made.rounding = rounding_of(sum.to, sum.bounds, sum.zero);
  find_fast(*byte_product_kernels(), made);
  return made;
}

IntegerResults::IntegerResults(const QuantizedConvolution& op, const Tensor& weight_sums,
                               const std::optional<ByteSum>& sum,
                               std::span<const TensorSpec> inputs)
    : weight_sums_(weight_sums),
      operands_(inputs, op.output_channels),
      add_(static_cast<size_t>(op.output_channels)),
      to_(op.to),
      bounds_(op.bounds),
      flip_(flip_of(inputs[In::kData].type)),
      sum_(sum) {}

void IntegerResults::begin(const RunArguments& arguments) {
  out_ = static_cast<std::byte*>(arguments.outputs[0]);
  const QuantizedOperands& operands = operands_.read(arguments);
  const int32_t zero = operands.data_zero + flip_;
  padding_ = static_cast<uint8_t>(zero);
  const auto* sums = weight_sums_.data<int32_t>();
  const int32_t* const constants = sums + add_.size();
  for (size_t m = 0; m < add_.size(); ++m)
    add_[m] = static_cast<int32_t>(static_cast<uint32_t>(operands.bias[m])
                                   + static_cast<uint32_t>(constants[m])
                                   - static_cast<uint32_t>(zero) * static_cast<uint32_t>(sums[m]));
  result_.add = add_.data();
  result_.scale = operands.scale.data();
  result_.shift = operands.shift.data();
  if (to_ == DataType::kFLOAT) result_.to = ByteResult::To::kFloat;
  if (is_byte(to_)) {
    result_.to = ByteResult::To::kByte;
    result_.rounding = rounding_of(to_, bounds_, static_cast<int32_t>(operands.result_zero));
  }
  if (arguments.inputs.size() > QuantizedConvolution::kAddend)
    addend_ = static_cast<const uint8_t*>(arguments.inputs[QuantizedConvolution::kAddend]);
}

}  // namespace tenon::cpu
