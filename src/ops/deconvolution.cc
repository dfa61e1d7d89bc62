#include "ops/deconvolution.h"

#include "ops/support/infer.h"
#include "ops/support/operations.h"

namespace tenon {

TENON_REGISTER_OP(Deconvolution);

void Deconvolution::visit(FieldVisitor& v) {
  visit_attributes(v);
  v("output_padding", output_padding);
}

namespace {

int64_t extra(const Deconvolution& op, size_t axis) {
  return op.output_padding.rank() == 0 ? 0 : op.output_padding[static_cast<int>(axis)];
}

}  // namespace

std::optional<nvinfer1::WeightsRole> Deconvolution::weights_role(size_t input) const {
  return kernel_or_bias(input);
}

void Deconvolution::infer(Inference& c) const {
  require(output_padding.rank() == 0 || output_padding.rank() == kernel.rank(),
          "expected {} entries in the output padding, found {}", kernel.rank(),
          output_padding.rank());
  for (int64_t p : output_padding)
    require(p >= 0, "expected output padding of at least 0, found {}", p);
  infer_convolution(c, *this, true, [&](size_t axis, Dim in, const Window& w) {
    return deconvolved(c.pool(), in, w, extra(*this, axis), padding_mode);
  });
}

void Deconvolution::reference(const ReferenceCall& call) const {
  run_convolution(call, *this, true, [&](size_t axis, const Window& w, int64_t in, int64_t out) {
    return resolved_transposed(w, in, out, extra(*this, axis), padding_mode);
  });
}

double Deconvolution::operations(std::span<const Shape> inputs,
                                 std::span<const Shape> outputs) const {
  const double taps = count_of(kernel) * static_cast<double>(output_channels / groups);
  return kMultiplyAdd * taps * count_of(inputs[0]) + operations_of(epilogue, outputs[0]);
}

}  // namespace tenon
