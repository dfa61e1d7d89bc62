// DeformableConvolution by the kernel that plugins use.
#include "ops/deformable_convolution.h"

#include "cpu/kernels.h"
#include "cpu/shared_kernel.h"
#include "ops/support/window.h"
#include "tenon/kernels/deformable_convolution.h"

namespace tenon::cpu {
namespace {

SharedExecution prepare(const DeformableConvolution& op, std::span<const TensorSpec> inputs,
                        const TensorSpec& output) {
  const Shape &x = inputs[0].shape, &kernel = inputs[1].shape, &y = output.shape;
  const auto windows = make_windows(2, Shape{kernel[2], kernel[3]}, op.stride, op.dilation,
                                    op.pre_padding, op.post_padding);
  const auto axis = [&](size_t i) {
    const Window& w = windows[i];
    return kernels::DeformableAxis{w.kernel, w.stride, w.pre, w.dilation};
  };
  const kernels::DeformableConvolutionRule rule{axis(0), axis(1), op.groups, op.offset_groups};
  const int64_t taps = op.offset_groups * kernel[2] * kernel[3];
  const bool has_mask = inputs.size() > 4 && inputs[4].present;
  require(inputs[2].shape == Shape({y[0], 2 * taps, y[2], y[3]})
              && (!has_mask || inputs[4].shape == Shape({y[0], taps, y[2], y[3]})),
          "offsets of shape {} do not fit a result of shape {}", inputs[2].shape, y);
  const size_t bytes =
      kernels::deformable_convolution_workspace(rule, x[0], x[1], x[2] * x[3], kernel[0]);
  return {
      bytes, [=](const kit::Device& device, const RunArguments& arguments) {
        const auto input = [&](size_t i) { return static_cast<const float*>(arguments.input(i)); };
        kernels::deformable_convolution<float>(
            device, rule,
            {input(0), input(2), input(4), input(1), input(3),
             static_cast<float*>(arguments.outputs[0]), x[0], x[1], x[2], x[3], y[1], y[2], y[3]});
      }};
}

}  // namespace

Offer offer_deformable_convolution(const KernelRequest& request) {
  if (!all_of_type(request, DataType::kFLOAT)) return "only float32 is supported";
  return std::make_unique<SharedKernel<DeformableConvolution>>(
      static_cast<const DeformableConvolution&>(request.op), prepare);
}

}  // namespace tenon::cpu
