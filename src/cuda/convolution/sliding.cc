#include "cuda/convolution/sliding.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "ops/convolution.h"
#include "ops/deconvolution.h"

namespace tenon::cuda {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using Family = PointwiseStep::Family;

int64_t at(const Shape& list, size_t axis) {
  return list.rank() > static_cast<int>(axis) ? list[static_cast<int>(axis)] : 0;
}

/// Extents of batch, channel and three spatial axes.
void spread(const Shape& shape, int64_t (&extents)[kAxes]) {
  require(shape.rank() >= 3 && shape.rank() <= kAxes, "expected rank 3 to 5, found {}", shape);
  std::fill(std::begin(extents), std::end(extents), 1);
  extents[0] = shape[0];
  extents[1] = shape[1];
  for (int i = 2; i < shape.rank(); ++i) extents[kAxes - shape.rank() + i] = shape[i];
}

/// A list over batch, channel and spatial axes in the order of memory.
template <class List> void to_memory_order(List& list, Layout layout) {
  if (layout == Layout::kChannelsLast) std::rotate(list + 1, list + 2, list + kAxes);
}

DeviceProgram device_program(const PointwiseProgram& program) {
  DeviceProgram p;
  require(program.inputs <= DeviceProgram::kMaxInputs
              && program.constants.size() <= DeviceProgram::kMaxConstants
              && program.steps.size() <= DeviceProgram::kMaxSteps,
          "an epilogue of {} inputs, {} constants and {} steps is too long", program.inputs,
          program.constants.size(), program.steps.size());
  program.check();
  p.inputs = program.inputs;
  for (const float constant : program.constants) p.constant[p.constants++] = constant;
  for (const PointwiseStep& s : program.steps)
    p.step[p.steps++] = {static_cast<int32_t>(s.family), s.function, s.a, s.b, s.alpha, s.beta};
  return p;
}

}  // namespace

SlidingOp::SlidingOp(const Op& op) {
  if (const auto* forward = dynamic_cast<const Convolution*>(&op)) {
    attributes = *forward;
    return;
  }
  const auto& backward = dynamic_cast<const Deconvolution&>(op);
  attributes = backward;
  output_padding = backward.output_padding;
  transposed = true;
}

std::vector<Window> SlidingOp::windows(const Shape& data, const Shape& result) const {
  auto windows = attributes.windows();
  for (size_t i = 0; i < windows.size(); ++i) {
    const auto axis = static_cast<int>(i) + 2;
    windows[i] = transposed
                     ? resolved_transposed(windows[i], data[axis], result[axis],
                                           at(output_padding, i), attributes.padding_mode)
                     : resolved(windows[i], data[axis], result[axis], attributes.padding_mode);
  }
  return windows;
}

std::string SlidingOp::refusal(const KernelRequest& request) const {
  const auto is_real = [](DataType type) {
    return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kBF16;
  };
  const auto& inputs = request.inputs;
  if (inputs.size() < 2 || !inputs[kDataInput].present || !inputs[kWeightsInput].present)
    return "input X or W is missing";
  const DataType type = inputs[kDataInput].type;
  if (!is_real(type)) return "only float32, float16 and bfloat16 are supported";
  for (const TensorSpec& input : inputs)
    if (input.present && input.type != type) return "tensors of several types are not supported";
  const int rank = attributes.kernel.rank() + 2;
  if (rank < 4 || rank > 5 || inputs[kDataInput].shape.rank() != rank)
    return "only two or three spatial axes are supported";
  if (attributes.groups < 1 || attributes.output_channels < 1
      || attributes.output_channels % attributes.groups != 0)
    return "the attributes are inconsistent";
  try {
    epilogue_parameters(attributes.epilogue, inputs, request.outputs[0]);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

std::string SlidingOp::product_refusal(const KernelRequest& request) const {
  if (std::string reason = refusal(request); !reason.empty()) return reason;
  const ConvolutionAttributes& a = attributes;
  if (transposed || a.groups != 1 || a.kernel.volume() != 1)
    return "only windows of one element without groups are supported";
  const TensorSpec& data = request.inputs[kDataInput];
  for (int axis = 0; axis < a.kernel.rank(); ++axis)
    if (a.stride[axis] != 1 || a.pre_padding[axis] != 0 || a.post_padding[axis] != 0)
      return "strides and padding are not supported";
  for (size_t i = kFirstOperand; i < request.inputs.size(); ++i)
    if (request.inputs[i].shape != request.outputs[0].shape)
      return "only operands of the result's shape are supported";
  return data.shape.volume() == 0 ? "there are no elements" : "";
}

Steps::Steps(const Shape& shape, Layout layout) {
  int64_t extents[kAxes];
  spread(shape, extents);
  int64_t step = 1;
  const auto next = [&](int i) {
    axis[i] = step;
    step *= extents[i];
  };
  if (layout == Layout::kChannelsLast) next(1);
  for (int i = kAxes - 1; i >= 2; --i) next(i);
  if (layout != Layout::kChannelsLast) next(1);
  next(0);
}

EpilogueParameters epilogue_parameters(const PointwiseProgram& program,
                                       std::span<const TensorSpec> inputs,
                                       const TensorSpec& result) {
  EpilogueParameters p;
  p.program = device_program(program);
  p.channels_last = result.layout == Layout::kChannelsLast;
  spread(result.shape, p.extents);
  const size_t operands = program.empty() ? 0 : static_cast<size_t>(program.inputs) - 1;
  require(operands == 0 || inputs.size() == kFirstOperand + operands,
          "an epilogue of {} operands, found {} inputs", operands, inputs.size());
  for (size_t i = 0; i < operands; ++i) {
    const TensorSpec& spec = inputs[kFirstOperand + i];
    require(spec.shape.rank() == result.shape.rank(), "an operand {} beside {}", spec.shape,
            result.shape);
    int64_t extents[kAxes];
    spread(spec.shape, extents);
    Steps steps(spec.shape, spec.layout);
    for (int axis = 0; axis < kAxes; ++axis) {
      require(extents[axis] == 1 || extents[axis] == p.extents[axis],
              "an operand {} does not broadcast to {}", spec.shape, result.shape);
      if (extents[axis] == 1) steps.axis[axis] = 0;
    }
    to_memory_order(steps.axis, result.layout);
    std::copy(std::begin(steps.axis), std::end(steps.axis), p.operands[i].steps);
  }
  to_memory_order(p.extents, result.layout);
  return p;
}

std::optional<SimpleEpilogue> match_simple_epilogue(const PointwiseProgram& program) {
  using Function = SimpleEpilogue::Function;
  SimpleEpilogue epilogue;
  const auto& steps = program.steps;
  size_t next = 0;
  int32_t value = 0;
  const auto joins = [&](ElementWiseOperation function, int32_t a, int32_t b) {
    return next < steps.size() && steps[next].family == Family::kElementWise
           && steps[next].function == static_cast<int32_t>(function)
           && std::minmax({steps[next].a, steps[next].b}) == std::pair(a, b);
  };
  if (program.inputs > 2) return std::nullopt;
  if (program.inputs == 2) {
    if (!joins(ElementWiseOperation::kSUM, 0, 1)) return std::nullopt;
    epilogue.adds = true;
    value = program.step_register(next++);
  }
  if (next == steps.size()) return epilogue;
  const PointwiseStep& s = steps[next];
  const int32_t gate = program.step_register(next++);
  if (s.family != Family::kActivation || s.a != value) return std::nullopt;
  const auto function = static_cast<ActivationType>(s.function);
  const bool is_last = next == steps.size();
  if (is_last && function == ActivationType::kRELU) {
    epilogue.function = Function::kClip;
    epilogue.high = std::numeric_limits<float>::infinity();
  } else if (is_last && function == ActivationType::kCLIP) {
    epilogue.function = Function::kClip;
    epilogue.low = s.alpha;
    epilogue.high = s.beta;
  } else if (is_last && function == ActivationType::kGELU_ERF) {
    epilogue.function = Function::kGelu;
  } else if (is_last && function == ActivationType::kGELU_TANH) {
    epilogue.function = Function::kGeluTanh;
  } else if (next + 1 == steps.size() && joins(ElementWiseOperation::kPROD, value, gate)) {
    const bool is_hard = function == ActivationType::kHARD_SIGMOID && s.beta == 0.5f
                         && std::abs(s.alpha - 1 / 6.f) < 1e-7f;
    if (!is_hard && function != ActivationType::kSIGMOID) return std::nullopt;
    epilogue.function = is_hard ? Function::kHardSwish : Function::kSwish;
  } else {
    return std::nullopt;
  }
  return epilogue;
}

void set_operands(EpilogueParameters& p, std::span<const void* const> inputs) {
  p.bias = inputs.size() > kBiasInput ? inputs[kBiasInput] : nullptr;
  for (size_t i = kFirstOperand; i < inputs.size(); ++i)
    p.operands[i - kFirstOperand].data = inputs[i];
}

Tensor with_channels_last(const Tensor& weights, int64_t outer, int64_t inner) {
  const int64_t taps = outer * inner == 0 ? 0 : weights.count() / (outer * inner);
  Tensor packed(weights.type(), {outer, taps, inner});
  const size_t bytes = bytes_of(weights.type(), 1);
  const auto* from = weights.data<std::byte>();
  auto* to = packed.mutable_data<std::byte>();
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t i = 0; i < inner; ++i, to += bytes)
        std::memcpy(to, from + static_cast<size_t>((o * inner + i) * taps + t) * bytes, bytes);
  return packed;
}

DirectConvolution direct_parameters(const SlidingOp& op, std::span<const TensorSpec> inputs,
                                    const TensorSpec& result, Layout weights) {
  const TensorSpec& data = inputs[kDataInput];
  const ConvolutionAttributes& a = op.attributes;
  const int rank = a.kernel.rank() + 2;
  require(data.shape.rank() == rank && result.shape.rank() == rank && data.shape[1] % a.groups == 0
              && result.shape[1] == a.output_channels && data.shape[0] == result.shape[0],
          "shapes {} of X and {} of Y do not fit kernel_shape, strides, pads and dilations",
          data.shape, result.shape);
  DirectConvolution p;
  p.type = data.type;
  p.transposed = op.transposed;
  p.images = data.shape[0];
  p.groups = a.groups;
  p.depth = data.shape[1] / a.groups;
  p.output_channels = a.output_channels / a.groups;
  p.axes = window_axes(op.windows(data.shape, result.shape), data.shape, result.shape);
  const Steps steps(data.shape, data.layout);
  std::copy(std::begin(steps.axis), std::end(steps.axis), p.data_steps);
  // Of the two channel axes of the weights the outer one is the output channels, or when transposed
  // the depth.
  const int64_t taps = a.kernel.volume(), inner = op.transposed ? p.output_channels : p.depth;
  const bool last = weights == Layout::kChannelsLast;
  const int64_t outer_step = inner * taps, inner_step = last ? 1 : taps;
  p.tap_step = last ? inner : 1;
  p.channel_step = op.transposed ? inner_step : outer_step;
  p.depth_step = op.transposed ? outer_step : inner_step;
  p.group_step = outer_step * (op.transposed ? p.depth : p.output_channels);
  p.epilogue = epilogue_parameters(a.epilogue, inputs, result);
  return p;
}

}  // namespace tenon::cuda
