#include "cuda/convolution/integer_convolution.h"

#include "cuda/empty_execution.h"
#include "cuda/kernels.h"
#include "cuda/quantized_execution.h"
#include "ops/quantized_convolution.h"
#include "ops/support/window.h"

namespace tenon::cuda {
namespace {

using In = QuantizedInputs;

class IntegerConvolutionKernel final : public Kernel {
 public:
  explicit IntegerConvolutionKernel(const QuantizedConvolution& op) : op_(op) {}

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    const Shape &in = inputs[In::kData].shape, &out = outputs[0].shape;
    const int64_t depth = in[1] / op_.groups;
    require(in.rank() == op_.kernel.rank() + 2 && out.rank() == in.rank() && out[0] == in[0]
                && out[1] == op_.output_channels && in[1] % op_.groups == 0
                && inputs[In::kWeights].shape.volume()
                       == op_.output_channels * depth * op_.kernel.volume(),
            "data {}, weights {} and result {} of a convolution of {} groups do not fit", in,
            inputs[In::kWeights].shape, out, op_.groups);
    if (out.volume() == 0) return std::make_unique<EmptyExecution>();
    IntegerConvolutionParameters p;
    p.data_is_signed = inputs[In::kData].type == DataType::kINT8;
    p.weights_are_signed = inputs[In::kWeights].type == DataType::kINT8;
    p.weights_zero = list_of(inputs, In::kWeightsZero, op_.output_channels);
    p.bias = list_of(inputs, In::kBias, op_.output_channels);
    p.epilogue = *quantized_epilogue(op_, inputs);
    p.images = in[0];
    p.groups = op_.groups;
    p.depth = depth;
    p.output_channels = op_.output_channels / op_.groups;
    auto windows = make_windows(op_.kernel.rank(), op_.kernel, op_.stride, op_.dilation,
                                op_.pre_padding, op_.post_padding);
    for (size_t i = 0; i < windows.size(); ++i) {
      const auto axis = static_cast<int>(i) + 2;
      windows[i] = resolved(windows[i], in[axis], out[axis], op_.padding_mode);
    }
    p.axes = window_axes(windows, in, out);
    return std::make_unique<QuantizedExecution<IntegerConvolutionParameters>>(
        p, launch_integer_convolution, "a convolution of integers");
  }

 private:
  QuantizedConvolution op_;
};

}  // namespace

Offer offer_integer_convolution(const KernelRequest& request) {
  const auto& op = static_cast<const QuantizedConvolution&>(request.op);
  if (op.kernel.rank() < 1 || op.kernel.rank() > 3 || op.groups < 1)
    return "only one to three spatial axes are supported";
  if (op.is_float8) return "fp8 is not supported";
  if (!quantized_epilogue(op)) return "the epilogue is not supported";
  return std::make_unique<IntegerConvolutionKernel>(op);
}

}  // namespace tenon::cuda
