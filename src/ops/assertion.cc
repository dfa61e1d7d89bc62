#include "ops/assertion.h"

#include "ops/support/infer.h"

namespace tenon {

TENON_REGISTER_OP(Assertion);

void Assertion::visit(FieldVisitor& v) {
  v("message", message);
}

void Assertion::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  require(c.type(0) == DataType::kBOOL, "expected a bool condition, found {}", name_of(c.type(0)));
  if (const Content* content = c.content(0))
    for (Dim d : *content)
      require(!d->is_integer_constant() || d->value.integer != 0, "assertion failed: {}", message);
}

void Assertion::reference(const ReferenceCall& call) const {
  const auto* holds = call.inputs[0].as<uint8_t>();
  for (int64_t i = 0; i < call.inputs[0].shape.volume(); ++i)
    require(holds[i] != 0, "assertion failed: {}", message);
}

}  // namespace tenon
