#include "ops/separable_convolution.h"

#include <algorithm>

#include "ops/support/infer.h"

namespace tenon {

TENON_REGISTER_OP(SeparableConvolution);

bool SeparableConvolution::is_pointwise() const {
  const auto windows = pointwise.windows();
  return pointwise.groups == 1
         && pointwise.padding_mode == nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN
         && std::all_of(windows.begin(), windows.end(), [](const Window& w) {
              return w.kernel == 1 && w.stride == 1 && w.pre == 0 && w.post == 0;
            });
}

Shape SeparableConvolution::between(const Shape& result) const {
  Shape shape = result;
  shape[1] = depthwise.output_channels;
  return shape;
}

void SeparableConvolution::visit(FieldVisitor& v) {
  depthwise.visit_attributes(v, "depthwise_");
  pointwise.visit_attributes(v, "pointwise_");
}

void SeparableConvolution::infer(Inference& c) const {
  require_inputs(c, kDepthwiseKernel + 1, INT32_MAX);
  require(c.has_input(kPointwiseKernel), "the second kernel (input {}) is missing",
          static_cast<int>(kPointwiseKernel));
  check_convolution_operands(c, depthwise, {kDepthwiseKernel, kDepthwiseBias, c.input_count()});
  check_convolution_operands(c, pointwise, {kPointwiseKernel, kPointwiseBias, kFirstOperand});
  require(is_pointwise(),
          "expected a second convolution of one element, without stride or padding");
  const auto dims = [&](const Convolution& op, const Dims& data, const ConvolutionInputs& inputs) {
    return convolution_dims(c, op, data, inputs, false, [&](size_t, Dim in, const Window& w) {
      return convolved(c.pool(), in, w, op.padding_mode);
    });
  };
  const Dims between =
      dims(depthwise, c.dims(kData), {kDepthwiseKernel, kDepthwiseBias, c.input_count()});
  c.set_output(0, c.type(kData),
               dims(pointwise, between, {kPointwiseKernel, kPointwiseBias, kFirstOperand}));
}

void SeparableConvolution::reference(const ReferenceCall& call) const {
  const Tensor first(call.outputs[0].type, between(call.outputs[0].shape));
  const TensorView made = view_of(first);
  depthwise.reference({call.inputs.first(kPointwiseKernel), {&made, 1}});
  std::vector<TensorView> inputs{made};
  inputs.insert(inputs.end(), call.inputs.begin() + kPointwiseKernel, call.inputs.end());
  pointwise.reference({inputs, call.outputs});
}

double SeparableConvolution::operations(std::span<const Shape> inputs,
                                        std::span<const Shape> outputs) const {
  const Shape middle = between(outputs[0]);
  return depthwise.operations(inputs, {&middle, 1}) + pointwise.operations({&middle, 1}, outputs);
}

}  // namespace tenon
