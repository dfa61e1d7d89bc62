#include "ops/constant.h"

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Constant);

void Constant::visit(FieldVisitor& v) {
  v("dimensions", dimensions);
}

std::optional<nvinfer1::WeightsRole> Constant::weights_role(size_t) const {
  return nvinfer1::WeightsRole::kCONSTANT;
}

void Constant::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  require_count(c, 0, "the weights", dimensions.volume());
  Dims dims;
  for (int64_t extent : dimensions) dims.push_back(c.pool().constant(extent));
  set_output_and_content(c, c.type(0), std::move(dims), {0},
                         [&](const Shape&) { return *c.content(0); });
}

void Constant::reference(const ReferenceCall& call) const {
  const TensorView& in = call.inputs[0];
  require(in.shape.volume() == dimensions.volume(), "expected {} elements, found {}",
          dimensions.volume(), in.shape.volume());
  copy_bytes(call.outputs[0].data, in.data, bytes_of(in.type, in.shape.volume()));
}

void Constant::insert_batch_axis(int32_t) {
  dimensions.insert(0, 1);
}

}  // namespace tenon
