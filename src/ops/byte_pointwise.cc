#include "ops/byte_pointwise.h"

#include <algorithm>

#include "ops/support/infer.h"
#include "ops/support/operations.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(BytePointwise);

void BytePointwise::visit(FieldVisitor& v) {
  program.visit(v, "");
  bytes.visit(v, "bytes");
}

void BytePointwise::infer(Inference& c) const {
  program.check();
  require(!program.empty(), "the program has no steps");
  require_inputs(c, program.inputs, program.inputs);
  if (bytes.used) {
    bytes.check();
    require(is_byte(bytes.to), "expected a result of int8 or uint8, found {}", name_of(bytes.to));
  }
  Dims dims = c.dims(0);
  for (int i = 0; i < c.input_count(); ++i) {
    require(is_byte(c.type(i)) || c.type(i) == DataType::kFLOAT,
            "input {} is {}; expected int8, uint8 or float32", i, name_of(c.type(i)));
    dims = broadcast(c.pool(), dims, c.dims(i));
  }
  c.set_output(0, bytes.used ? bytes.to : DataType::kFLOAT, std::move(dims));
}

double BytePointwise::operations(std::span<const Shape>, std::span<const Shape> outputs) const {
  return operations_of(program, outputs[0]);
}

void BytePointwise::reference(const ReferenceCall& call) const {
  std::vector<Tensor> numbers;
  std::vector<TensorView> inputs;
  for (const TensorView& in : call.inputs) {
    numbers.emplace_back(DataType::kFLOAT, in.shape);
    const Floats floats(in);
    std::copy_n(floats.data(), in.shape.volume(), numbers.back().mutable_data<float>());
  }
  for (Tensor& t : numbers) inputs.push_back({t.mutable_data<float>(), t.type(), t.shape()});
  const TensorView& out = call.outputs[0];
  if (!bytes.used) return run_reference(program, inputs, out);
  Tensor result(DataType::kFLOAT, out.shape);
  const TensorView view{result.mutable_data<float>(), result.type(), result.shape()};
  run_reference(program, inputs, view);
  bytes.quantize(view, out);
}

}  // namespace tenon
