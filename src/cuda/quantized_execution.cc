#include "cuda/quantized_execution.h"

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "cuda/capability.h"
#include "cuda/convolution/sliding.h"

namespace tenon::cuda {
namespace {

using In = QuantizedInputs;
using nvinfer1::ElementWiseOperation;

QuantizedEpilogue::Range range_of(const ResultBounds& bounds, DataType to) {
  const IntegerRange range = bounds.of(to);
  return {static_cast<int>(range.lowest), static_cast<int>(range.highest)};
}

struct DividedEpilogue {
  SimpleEpilogue function;
  float divisor = 1;
};

// A program whose last step divides the result of a simple one by a constant, as Quantize does.
std::optional<DividedEpilogue> match_division(PointwiseProgram program) {
  const PointwiseStep last = program.steps.back();
  program.steps.pop_back();
  const size_t before = program.steps.size();
  const int32_t number = before == 0 ? 0 : program.step_register(before - 1);
  const int32_t constant = last.b - program.inputs;
  if (last.family != PointwiseStep::Family::kElementWise
      || last.function != static_cast<int32_t>(ElementWiseOperation::kDIV) || last.a != number
      || constant < 0 || static_cast<size_t>(constant) >= program.constants.size())
    return std::nullopt;
  const auto function = match_simple_epilogue(program);
  const float divisor = program.constants[static_cast<size_t>(constant)];
  const bool has_bounds = function && function->function == SimpleEpilogue::Function::kClip;
  if (!function || !std::isfinite(1 / divisor)
      || (has_bounds && !(function->low <= function->high)))
    return std::nullopt;
  return DividedEpilogue{*function, divisor};
}

template <class Op>
std::optional<QuantizedEpilogue> requantization(const Op& op, std::span<const TensorSpec> inputs,
                                                int64_t channels) {
  QuantizedEpilogue e;
  e.to = op.to;
  if (e.makes_bytes()) e.range = range_of(op.bounds, op.to);
  e.scale = list_of(inputs, In::kResultScale, channels);
  e.shift = list_of(inputs, In::kResultShift, channels);
  e.zero = list_of(inputs, In::kResultZero, 1);
  if (op.epilogue.empty()) return e;
  const auto divided = match_division(op.epilogue);
  if (!divided || !(e.makes_bytes() || e.to == DataType::kFP8)) return std::nullopt;
  e.form = QuantizedEpilogue::Form::kFunction;
  e.function = divided->function;
  e.divide_by(divided->divisor);
  return e;
}

}  // namespace

bool multiplies_float8() {
  return has_capability(8, 9);  // Ada
}

QuantizedEpilogue::List list_of(std::span<const TensorSpec> inputs, size_t input,
                                int64_t channels) {
  if (inputs.size() <= input || !inputs[input].present) return {};
  const int64_t found = inputs[input].shape.volume();
  require(found == 1 || found == channels, "expected 1 or {} elements in input {}, found {}",
          channels, input, found);
  return {nullptr, found == 1 ? 0 : 1};
}

std::optional<QuantizedEpilogue> quantized_epilogue(const QuantizedConvolution& op,
                                                    std::span<const TensorSpec> inputs) {
  auto e = requantization(op, inputs, op.output_channels);
  if (!e) return e;
  if (op.sum.used) {
    e->form = QuantizedEpilogue::Form::kSum;
    e->product_scale = op.sum.product_scale;
    e->addend_scale = op.sum.addend_scale;
    e->addend_zero = op.sum.addend_zero;
    e->divide_by(op.sum.scale);
    e->sum_zero = op.sum.zero;
    e->sum_range = range_of(op.sum.bounds, op.sum.to);
  } else {
    e->addend_scale = op.operand.scale;
    e->addend_zero = op.operand.zero;
  }
  constexpr size_t kAddend = QuantizedConvolution::kAddend;
  if (e->has_addend() && kAddend < inputs.size())
    e->addend_is_signed = inputs[kAddend].type == DataType::kINT8;
  return e;
}

std::optional<QuantizedEpilogue> quantized_epilogue(const QuantizedMatrixMultiply& op,
                                                    std::span<const TensorSpec> inputs) {
  const int64_t columns = inputs.empty() ? 0 : inputs[In::kWeights].shape.back();
  return requantization(op, inputs, columns);
}

void set_operands(QuantizedEpilogue& e, const RunArguments& arguments) {
  e.scale.data = arguments.input(In::kResultScale);
  e.shift.data = arguments.input(In::kResultShift);
  e.zero.data = arguments.input(In::kResultZero);
  e.addend = e.has_addend() ? arguments.input(QuantizedConvolution::kAddend) : nullptr;
}

namespace {

constexpr size_t kPackedInputs[] = {In::kWeights, In::kDataZero, In::kWeightsZero, In::kBias};
constexpr int64_t kPaddingBytes = 16;

// Element i of a constant of one or more elements; 0 where there is none.
int32_t element(const Tensor* constant, int64_t i) {
  if (constant == nullptr) return 0;
  const int64_t at = constant->count() == 1 ? 0 : i;
  if (constant->type() == DataType::kINT32) return constant->data<int32_t>()[at];
  return byte_of(view_of(*constant), at);
}

}  // namespace

Variant<std::vector<Tensor>, std::string> PackedWeights::pack(const KernelRequest& request,
                                                              const WeightPacking& packing) {
  for (const size_t i : kPackedInputs)
    if (i < request.inputs.size() && request.inputs[i].present && request.constants[i] == nullptr)
      return std::string(
          "computed weights, zero points of them or of the data, and biases are not "
          "supported");
  const auto constant = [&](size_t i) {
    return i < request.constants.size() ? request.constants[i] : nullptr;
  };
  const Tensor& weights = *constant(In::kWeights);
  require(weights.count() == packing.output_channels * packing.depth,
          "expected weights of {} elements, found {}", packing.output_channels * packing.depth,
          weights.count());
  const TensorView view = view_of(weights);
  const Shape channels = {packing.output_channels};
  std::vector<Tensor> packed = {
      Tensor(DataType::kINT8, {packing.bytes}), Tensor(DataType::kINT32, channels),
      Tensor(DataType::kINT32, channels), Tensor(DataType::kUINT8, {kPaddingBytes})};
  auto* values = packed[kWeights].mutable_data<int8_t>();
  std::memset(values, 0, packed[kWeights].bytes());
  for (int64_t o = 0; o < packing.output_channels; ++o) {
    if (weights.type() == DataType::kFP8) {  // without a zero point and an integer bias
      for (int64_t k = 0; k < packing.depth; ++k)
        values[packing.target(o, k)] = weights.data<int8_t>()[packing.source(o, k)];
      packed[kBias].mutable_data<int32_t>()[o] = packed[kWeightsSum].mutable_data<int32_t>()[o] = 0;
      continue;
    }
    const int32_t zero = element(constant(In::kWeightsZero), o);
    uint32_t sum = 0;  // which wraps
    for (int64_t k = 0; k < packing.depth; ++k) {
      const int32_t value = byte_of(view, packing.source(o, k)) - zero;
      if (value != static_cast<int8_t>(value))
        return std::string("weights that are not int8 without their zero points are not supported");
      values[packing.target(o, k)] = static_cast<int8_t>(value);
      sum += static_cast<uint32_t>(value);
    }
    packed[kBias].mutable_data<int32_t>()[o] = element(constant(In::kBias), o);
    packed[kWeightsSum].mutable_data<int32_t>()[o] = static_cast<int32_t>(sum);
  }
  std::memset(packed[kPadding].mutable_data<uint8_t>(), element(constant(In::kDataZero), 0),
              static_cast<size_t>(kPaddingBytes));
  return packed;
}

void PackedWeights::check(std::span<const Tensor> stored, const WeightPacking& packing) {
  const std::pair<DataType, int64_t> expected[] = {{DataType::kINT8, packing.bytes},
                                                   {DataType::kINT32, packing.output_channels},
                                                   {DataType::kINT32, packing.output_channels},
                                                   {DataType::kUINT8, kPaddingBytes}};
  require(stored.size() == kCount, "a stored kernel is damaged");
  for (size_t i = 0; i < kCount; ++i)
    require(stored[i].type() == expected[i].first && stored[i].count() == expected[i].second,
            "a stored kernel is damaged");
}

void PackedWeights::describe(Kernel& kernel, const KernelRequest& request, bool are_pictures) {
  const size_t count = request.inputs.size();
  kernel.input_is_packed.assign(count, false);
  for (const size_t i : kPackedInputs)
    if (i < count) kernel.input_is_packed[i] = true;
  kernel.input_layouts.assign(count, Layout::kLinear);
  if (!are_pictures) return;
  for (const size_t i : {size_t{In::kData}, size_t{QuantizedConvolution::kAddend}})
    if (i < count) kernel.input_layouts[i] = Layout::kChannelsLast;
  kernel.output_layouts = {Layout::kChannelsLast};
}

}  // namespace tenon::cuda
