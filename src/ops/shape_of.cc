#include "ops/shape_of.h"

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(ShapeOf);

void ShapeOf::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  set_output_and_content(c, DataType::kINT64, {c.pool().constant(c.rank(0))}, {},
                         [&](const Shape&) { return c.dims(0); });
}

void ShapeOf::reference(const ReferenceCall& call) const {
  const Shape& shape = call.inputs[0].shape;
  require_output(call.outputs[0], {shape.rank()});
  std::copy(shape.begin(), shape.end(), call.outputs[0].as<int64_t>());
}

}  // namespace tenon
