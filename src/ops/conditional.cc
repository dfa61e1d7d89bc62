#include "ops/conditional.h"

#include "ops/infer.h"

namespace tenon {

TENON_REGISTER_OP(Conditional);

void Conditional::infer(Inference& c) const {
  require(c.has_input(0) && c.type(0) == DataType::kBOOL, "expected a condition of type bool");
  require_count(c, 0, "the condition", 1);
  for (int i = 1; i < c.input_count(); ++i) require(c.has_input(i), "input {} is missing", i);
  outputs.infer(c);
}

void Conditional::reference(const ReferenceCall&) const {
  fail(ErrorCode::kINTERNAL_ERROR, "a conditional runs through its bodies");
}

std::vector<Tensor> Conditional::run(std::span<const Tensor* const> inputs,
                                     const RunBody& run_body) const {
  std::vector<Tensor> arguments;
  for (const Tensor* t : inputs.subspan(1)) arguments.push_back(*t);
  return run_body(*inputs[0]->data<bool>() ? 0 : 1, std::move(arguments));
}

}  // namespace tenon
