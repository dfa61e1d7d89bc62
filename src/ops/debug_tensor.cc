#include "ops/debug_tensor.h"

#include "ops/support/infer.h"

namespace tenon {

TENON_REGISTER_OP(DebugTensor);

void DebugTensor::visit(FieldVisitor& v) {
  v("tensor", tensor);
}

void DebugTensor::infer(Inference& c) const {
  require_inputs(c, 1, 1);
}

void DebugTensor::reference(const ReferenceCall&) const {}

}  // namespace tenon
