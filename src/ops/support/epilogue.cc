#include "ops/support/epilogue.h"

#include "ops/support/infer.h"

namespace tenon {

void check_epilogue_operands(const Inference& c, const PointwiseProgram& epilogue, int first) {
  epilogue.check();
  const int operands = std::max(0, c.input_count() - first);
  const int expected = epilogue.empty() ? 0 : epilogue.inputs - 1;
  require(operands == expected, "expected {} operands of the epilogue, found {}", expected,
          operands);
  if (epilogue.empty()) return;
  require_float(c, 0, "the data");
  for (int i = first; i < c.input_count(); ++i) {
    require(c.has_input(i), "operand {} of the epilogue is missing", i - first);
    require_type_of_data(c, i, "an operand of the epilogue");
  }
}

void check_epilogue(Inference& c, const PointwiseProgram& epilogue, int first, const Dims& dims) {
  if (epilogue.empty()) return;
  for (int i = first; i < c.input_count(); ++i) {
    const Dims both = broadcast(c.pool(), dims, c.dims(i));
    for (size_t k = 0; k < dims.size(); ++k)
      require(!both[k]->is_constant() || !dims[k]->is_constant() || both[k] == dims[k],
              "operand {} of the epilogue, {}, does not broadcast to the result, {}", i - first,
              text_of(c.dims(i)), text_of(dims));
  }
}

void run_epilogue(const PointwiseProgram& epilogue, const ReferenceCall& call, size_t first) {
  if (epilogue.empty()) return;
  std::vector<TensorView> inputs{call.outputs[0]};
  for (size_t i = first; i < call.inputs.size(); ++i) inputs.push_back(call.inputs[i]);
  run_reference(epilogue, inputs, call.outputs[0]);
}

}  // namespace tenon
