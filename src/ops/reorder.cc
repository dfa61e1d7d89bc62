#include "ops/reorder.h"

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Reorder);

void Reorder::visit(FieldVisitor& v) {
  v("from", from);
  v("to", to);
}

void Reorder::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  require(from <= kLastLayout && to <= kLastLayout, "layouts {} and {} are not known",
          static_cast<int>(from), static_cast<int>(to));
  set_output_and_content(c, c.type(0), c.dims(0), {0}, [&](const Shape&) { return *c.content(0); });
}

void Reorder::reference(const ReferenceCall& call) const {
  const TensorView& in = call.inputs[0];
  require_output(call.outputs[0], in.shape);
  copy_bytes(call.outputs[0].data, in.data, bytes_of(in.type, in.shape.volume()));
}

}  // namespace tenon
