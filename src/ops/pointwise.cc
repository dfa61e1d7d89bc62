#include "ops/pointwise.h"

#include "ops/support/infer.h"
#include "ops/support/operations.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Pointwise);

void Pointwise::visit(FieldVisitor& v) {
  program.visit(v, "");
}

void Pointwise::infer(Inference& c) const {
  program.check();
  require(!program.empty(), "the program has no steps");
  require_inputs(c, program.inputs, program.inputs);
  require_float(c, 0, "the data");
  Dims dims = c.dims(0);
  for (int i = 1; i < c.input_count(); ++i) {
    require_type_of_data(c, i, "an operand");
    dims = broadcast(c.pool(), dims, c.dims(i));
  }
  c.set_output(0, c.type(0), std::move(dims));
}

void Pointwise::reference(const ReferenceCall& call) const {
  run_reference(program, call.inputs, call.outputs[0]);
}

double Pointwise::operations(std::span<const Shape>, std::span<const Shape> outputs) const {
  return operations_of(program, outputs[0]);
}

}  // namespace tenon
