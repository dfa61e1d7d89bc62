#include "cpu/convolution/block_convolution.h"

#include "base/parallel.h"

namespace tenon::cpu {

BlockConvolution::BlockConvolution(const Convolution& op, std::span<const TensorSpec> inputs,
                                   const TensorSpec& output)
    : BlockExecution(op.epilogue, inputs, output),
      simd_(simd_kernels()),
      has_bias_(inputs.size() > 2 && inputs[2].present) {}

void BlockConvolution::begin(const RunArguments& arguments, float*) {
  data_ = static_cast<const float*>(arguments.inputs[0]);
  weights_ = static_cast<const float*>(arguments.inputs[1]);
  bias_ = has_bias_ ? static_cast<const float*>(arguments.inputs[2]) : nullptr;
  out_ = static_cast<float*>(arguments.outputs[0]);
}

std::string refusal_of_tensors(const KernelRequest& request) {
  return all_of_type(request, DataType::kFLOAT) ? "" : "only float32 is supported";
}

std::string refusal_of_planes(const Shape& kernel, const KernelRequest& request) {
  if (const std::string reason = refusal_of_tensors(request); !reason.empty()) return reason;
  if (kernel.rank() != 2 || request.inputs[0].shape.rank() != 4
      || request.outputs[0].shape.rank() != 4)
    return "only two spatial axes are supported";
  return "";
}

std::string refusal_of_groups(const Convolution& op, const KernelRequest& request) {
  if (const std::string reason = refusal_of_planes(op.kernel, request); !reason.empty())
    return reason;
  if (op.groups != 1 || op.output_channels < 1 || request.inputs[0].shape[1] < 1)
    return "only group 1 and static channels are supported";
  return "";
}

Offer unless_it_copies_much(std::unique_ptr<Kernel> kernel, const KernelRequest& request) {
  constexpr size_t kMaxBytes = 16 << 20;  // of a thread
  try {
    const auto execution = prepare_for(request, *kernel);
    if (execution->scratch_bytes() > kMaxBytes * static_cast<size_t>(thread_count()))
      return "kernel_shape, dilations and channels need more than 16 MiB of workspace per thread";
  } catch (const Error& e) {
    return e.what();
  }
  return kernel;
}

void lie_in(Layout layout, Kernel& kernel, const KernelRequest& request) {
  constexpr size_t kBias = 2, kFirstOperand = 3;
  const auto& inputs = request.inputs;
  kernel.input_layouts.assign(inputs.size(), Layout::kLinear);
  kernel.input_layouts[0] = layout;
  for (size_t i = kFirstOperand; i < inputs.size(); ++i)
    if (inputs[i].shape == request.outputs[0].shape) kernel.input_layouts[i] = layout;
  kernel.output_layouts.assign(1, layout);
  kernel.input_is_packed.assign(inputs.size(), false);
  for (size_t i = 1; i <= kBias && i < inputs.size(); ++i)
    kernel.input_is_packed[i] = inputs[i].present;
}

std::vector<Window> convolution_windows(const Convolution& op, std::span<const TensorSpec> inputs,
                                        const Shape& result) {
  const Shape& data = inputs[0].shape;
  const int rank = op.kernel.rank() + 2;
  require(data.rank() == rank && result.rank() == rank && data[1] > 0 && data[1] % op.groups == 0
              && result[1] == op.output_channels && result[0] == data[0],
          "shapes {} of X and {} of Y do not fit kernel_shape, strides, pads and dilations", data,
          result);
  const int64_t channels = data[1] / op.groups;
  require(inputs[1].shape.volume()
              == Shape({op.output_channels, channels, op.kernel.volume()}).volume(),
          "weights of shape {}, expected {}x{}x{}", inputs[1].shape, op.output_channels, channels,
          op.kernel);
  const bool has_bias = inputs.size() > 2 && inputs[2].present;
  require(!has_bias || inputs[2].shape.volume() == op.output_channels,
          "a bias of shape {}, expected {}", has_bias ? inputs[2].shape : Shape{},
          op.output_channels);
  auto windows = op.windows();
  for (size_t i = 0; i < windows.size(); ++i) {
    const int axis = static_cast<int>(i) + 2;
    windows[i] = resolved(windows[i], data[axis], result[axis], op.padding_mode);
  }
  return windows;
}

}  // namespace tenon::cpu
