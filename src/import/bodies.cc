#include "import/bodies.h"

#include "ops/identity.h"

namespace tenon {

void mark_body_output(Body& body, Value& value) {
  Layers layers(*body.state,
                fmt::format("{} [output {}]", body.network->name, body.network->outputs().size()));
  Value* output = &value;
  const bool border = value.is_input || value.is_output || value.is_weight();
  if (value.is_weight()) output = &layers.constant(value);
  if (border) output = &layers.add(std::make_unique<Identity>(), {output});
  output->name = fmt::format("{} [output {}]", body.network->name, body.network->outputs().size());
  body.network->mark_output(*output);
}

}  // namespace tenon
