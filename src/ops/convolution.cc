#include "ops/convolution.h"

#include "ops/support/infer.h"
#include "ops/support/operations.h"

namespace tenon {

TENON_REGISTER_OP(Convolution);

void Convolution::visit(FieldVisitor& v) {
  visit_attributes(v);
}

std::optional<nvinfer1::WeightsRole> Convolution::weights_role(size_t input) const {
  return kernel_or_bias(input);
}

void Convolution::infer(Inference& c) const {
  infer_convolution(c, *this, false, [&](size_t, Dim in, const Window& w) {
    return convolved(c.pool(), in, w, padding_mode);
  });
}

void Convolution::reference(const ReferenceCall& call) const {
  run_convolution(call, *this, false, [&](size_t, const Window& w, int64_t in, int64_t out) {
    return resolved(w, in, out, padding_mode);
  });
}

double Convolution::operations(std::span<const Shape> inputs,
                               std::span<const Shape> outputs) const {
  const double taps = count_of(kernel) * static_cast<double>(inputs[0][1] / groups);
  return kMultiplyAdd * taps * count_of(outputs[0]) + operations_of(epilogue, outputs[0]);
}

}  // namespace tenon
