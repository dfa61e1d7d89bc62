// Pictures come by planes of channels, and convolutions of bytes read channels side by side.
#include "cuda/quantize_pictures.h"

#include "base/cuda_stream.h"
#include "cuda/kernels.h"
#include "cuda/launch_kernel.h"
#include "ops/quantize.h"

namespace tenon::cuda {
namespace {

PictureQuantization quantization_of(const Quantize& op, std::span<const TensorSpec> inputs) {
  const Shape& shape = inputs[0].shape;
  PictureQuantization p;
  p.type = inputs[0].type;
  p.scale_type = inputs[1].type;
  p.is_signed = op.to == DataType::kINT8;
  const IntegerRange own = integer_range(op.to);
  const bool has_bounds = op.lowest != op.highest;
  p.lowest = static_cast<int>(has_bounds ? op.lowest : own.lowest);
  p.highest = static_cast<int>(has_bounds ? op.highest : own.highest);
  p.images = shape[0];
  p.channels = static_cast<int>(shape[1]);
  p.positions = shape.volume(2, shape.rank());
  return p;
}

LaunchExecution prepare_pictures(const Op& op, std::span<const TensorSpec> inputs,
                                 std::span<const TensorSpec>) {
  const auto p = quantization_of(static_cast<const Quantize&>(op), inputs);
  return LaunchExecution([p](const RunArguments& arguments) {
    if (p.images * p.positions == 0) return;
    PictureQuantization own = p;
    own.in = arguments.inputs[0];
    own.scale = arguments.inputs[1];
    own.zero = arguments.input(2);
    own.out = arguments.outputs[0];
    launch_picture_quantization(own, to_cuda(arguments.stream));
    check_launch("a quantization of pictures");
  });
}

}  // namespace

Offer offer_quantize_pictures(const KernelRequest& request) {
  const auto* op = dynamic_cast<const Quantize*>(&request.op);
  if (op == nullptr || !is_byte(op->to)) return "only Quantize to bytes is supported";
  const TensorSpec& data = request.inputs[0];
  constexpr int64_t kMaxChannels = 4;
  if (data.shape.rank() != 4 || data.layout != Layout::kLinear || data.shape[1] < 2
      || data.shape[1] > kMaxChannels)
    return "only pictures of 2 to 4 channels are supported, whose channels are not last";
  if (!is_real_type(data.type) || !is_real_type(request.inputs[1].type))
    return "only float32, float16 and bfloat16 are supported";
  if (request.inputs[1].shape.volume() != 1 || op->layout.block.rank() != 0)
    return "only one scale is supported";
  if (is_given(request.inputs, 2)
      && (request.inputs[2].type != op->to || request.inputs[2].shape.volume() != 1))
    return "only one zero point of the result's type is supported";
  auto kernel = std::make_unique<LaunchKernel>(request.op, prepare_pictures);
  kernel->input_layouts.assign(request.inputs.size(), Layout::kLinear);
  kernel->output_layouts = {Layout::kChannelsLast};
  return kernel;
}

}  // namespace tenon::cuda
