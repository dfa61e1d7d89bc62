#include "ops/bit_cast.h"

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(BitCast);

void BitCast::visit(FieldVisitor& v) {
  v("to", to);
}

void BitCast::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  require(bits_of(c.type(0)) == bits_of(to), "expected elements of {} bits, as {} has, found {}",
          bits_of(to), name_of(to), name_of(c.type(0)));
  require(to != DataType::kBOOL || c.type(0) == to,
          "expected another type than bool to read bits as: its elements are 0 or 1");
  c.set_output(0, to, c.dims(0));
}

void BitCast::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  require_output(out, in.shape);
  copy_bytes(out.data, in.data, bytes_of(in.type, in.shape.volume()));
}

}  // namespace tenon
