#include "ops/bitwise.h"

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Bitwise);

void Bitwise::visit(FieldVisitor& v) {
  v("operation", operation);
}

namespace {

int64_t combine(BitwiseOperation operation, int64_t a, int64_t b) {
  const bool far = b < 0 || b > 63;
  switch (operation) {
    case BitwiseOperation::kAnd:
      return a & b;
    case BitwiseOperation::kOr:
      return a | b;
    case BitwiseOperation::kXor:
      return a ^ b;
    case BitwiseOperation::kShiftLeft:
      return far ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
    case BitwiseOperation::kShiftRight:
      return a >> (far ? 63 : b);
  }
  return 0;
}

template <class T> void run(BitwiseOperation operation, const ReferenceCall& call) {
  const TensorView& out = call.outputs[0];
  const T *a = call.inputs[0].as<T>(), *b = call.inputs[1].as<T>();
  const Shape strides[] = {broadcast_strides(call.inputs[0].shape, out.shape),
                           broadcast_strides(call.inputs[1].shape, out.shape)};
  for_rows(out.shape, strides, [&](const Row& row) {
    for (int64_t i = 0; i < row.length; ++i)
      out.as<T>()[row.begin + i] = static_cast<T>(combine(
          operation, a[row.offset[0] + i * row.step[0]], b[row.offset[1] + i * row.step[1]]));
  });
}

}  // namespace

void Bitwise::infer(Inference& c) const {
  require_inputs(c, 2, 2);
  require(operation >= BitwiseOperation::kAnd && operation <= BitwiseOperation::kShiftRight,
          "expected a bitwise operation (0 to 4), found {}", static_cast<int32_t>(operation));
  require(is_integer(c.type(0)) && bits_of(c.type(0)) >= 8,
          "expected integers of 8 bits or more, found {}", name_of(c.type(0)));
  require_type_of_data(c, 1, "the second operand");
  c.set_output(0, c.type(0), broadcast(c.pool(), c.dims(0), c.dims(1)));
}

void Bitwise::reference(const ReferenceCall& call) const {
  with_type(call.outputs[0].type, [&](auto zero) {
    if constexpr (!is_real<decltype(zero)>) run<decltype(zero)>(operation, call);
  });
}

}  // namespace tenon
