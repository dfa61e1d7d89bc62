#include "ops/conditional.h"

#include "ops/support/infer.h"
#include "ops/support/read_integer.h"

namespace tenon {

TENON_REGISTER_OP(Conditional);

void Conditional::infer(Inference& c) const {
  require(c.has_input(0) && c.type(0) == DataType::kBOOL, "expected a condition of type bool");
  require_count(c, 0, "the condition", 1);
  for (int i = 1; i < c.input_count(); ++i) require(c.has_input(i), "input {} is missing", i);
  require(!is_decided_at_build() || otherwise.count() == outputs.count(),
          "the description of the outputs is damaged");
  const Content* condition = c.content(0);
  const bool is_true = condition != nullptr && condition->size() == 1
                       && condition->front()->is_integer_constant()
                       && condition->front()->value.integer != 0;
  (!is_decided_at_build() || is_true ? outputs : otherwise).infer(c);
}

void Conditional::reference(const ReferenceCall&) const {
  fail(ErrorCode::kINTERNAL_ERROR, "a conditional runs through its bodies");
}

namespace {

class ConditionalRunner final : public ControlFlow::Runner {
 public:
  explicit ConditionalRunner(TensorMemory& memory) : memory_(memory) {}
  std::span<const Tensor> run(std::span<const Tensor* const> inputs, RunBody run_body) override {
    arguments_.clear();
    for (const Tensor* t : inputs.subspan(1)) arguments_.push_back(*t);
    return run_body(read_bool(memory_, *inputs[0]) ? 0 : 1, arguments_);
  }

 private:
  TensorMemory& memory_;
  std::vector<Tensor> arguments_;
};

}  // namespace

std::unique_ptr<ControlFlow::Runner> Conditional::make_runner(TensorMemory& memory) const {
  return std::make_unique<ConditionalRunner>(memory);
}

}  // namespace tenon
