#include "ops/elementwise.h"

#include "ops/support/infer.h"
#include "ops/support/pointwise_program.h"
#include "ops/support/private_operation.h"
#include "ops/support/reference.h"

namespace tenon {

using Operation = nvinfer1::ElementWiseOperation;

TENON_REGISTER_OP(ElementWise);

void ElementWise::visit(FieldVisitor& v) {
  v("operation", operation);
}

namespace {

bool is_logical(Operation o) {
  return o == Operation::kAND || o == Operation::kOR || o == Operation::kXOR;
}
bool is_comparison(Operation o) {
  return o == Operation::kEQUAL || o == Operation::kGREATER || o == Operation::kLESS;
}

Dim expression(ExprPool& pool, Operation o, Dim a, Dim b) {
  const bool real = a->is_float || b->is_float;
  if (o == operation_of(PrivateOperation::kRemainder)) return pool.make(ExprOp::kTruncMod, a, b);
  switch (o) {
    case Operation::kSUM:
      return pool.add(a, b);
    case Operation::kPROD:
      return pool.mul(a, b);
    case Operation::kMAX:
      return pool.max(a, b);
    case Operation::kMIN:
      return pool.min(a, b);
    case Operation::kSUB:
      return pool.sub(a, b);
    case Operation::kDIV:
      return pool.make(real ? ExprOp::kDivide : ExprOp::kTruncDiv, a, b);
    case Operation::kPOW:
      return pool.make(ExprOp::kPow, a, b);
    case Operation::kFLOOR_DIV:
      return real ? pool.make(ExprOp::kFloor, pool.make(ExprOp::kDivide, a, b))
                  : pool.floor_div(a, b);
    case Operation::kAND:
      return pool.make(ExprOp::kAnd, a, b);
    case Operation::kOR:
      return pool.make(ExprOp::kOr, a, b);
    case Operation::kXOR:
      return pool.make(ExprOp::kXor, a, b);
    case Operation::kEQUAL:
      return pool.make(ExprOp::kEqual, a, b);
    case Operation::kGREATER:
      return pool.make(ExprOp::kLess, b, a);
    case Operation::kLESS:
      return pool.make(ExprOp::kLess, a, b);
  }
  fail(ErrorCode::kINTERNAL_ERROR, "element-wise operation {}", static_cast<int32_t>(o));
}

// Two's complement arithmetic that wraps; division by zero gives 0 rather than a trap.
int64_t wrap(uint64_t x) {
  return static_cast<int64_t>(x);
}

int64_t divide(int64_t a, int64_t b, bool floored) {
  if (b == 0) return 0;
  if (b == -1) return wrap(-static_cast<uint64_t>(a));
  const int64_t q = a / b;
  return q - (floored && a % b != 0 && (a < 0) != (b < 0));
}

int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (; exponent > 0; exponent >>= 1, factor *= factor)
    if (exponent & 1) result *= factor;
  return wrap(result);
}

int64_t on_integers(Operation o, int64_t a, int64_t b) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (o) {
    case Operation::kSUM:
      return wrap(ua + ub);
    case Operation::kPROD:
      return wrap(ua * ub);
    case Operation::kMAX:
      return std::max(a, b);
    case Operation::kMIN:
      return std::min(a, b);
    case Operation::kSUB:
      return wrap(ua - ub);
    case Operation::kDIV:
      return divide(a, b, false);
    case Operation::kPOW:
      return power(a, b);
    case Operation::kFLOOR_DIV:
      return divide(a, b, true);
    case Operation::kAND:
      return a != 0 && b != 0;
    case Operation::kOR:
      return a != 0 || b != 0;
    case Operation::kXOR:
      return (a != 0) != (b != 0);
    case Operation::kEQUAL:
      return a == b;
    case Operation::kGREATER:
      return a > b;
    case Operation::kLESS:
      return a < b;
  }
  return 0;
}

template <class T, class Out> void run(Operation operation, const ReferenceCall& call) {
  const TensorView& out = call.outputs[0];
  const T *a = call.inputs[0].as<T>(), *b = call.inputs[1].as<T>();
  const Shape strides[] = {broadcast_strides(call.inputs[0].shape, out.shape),
                           broadcast_strides(call.inputs[1].shape, out.shape)};
  const PointwiseStep step{PointwiseStep::Family::kElementWise, static_cast<int32_t>(operation)};
  for_rows(out.shape, strides, [&](const Row& row) {
    for (int64_t i = 0; i < row.length; ++i) {
      const auto x = load(a[row.offset[0] + i * row.step[0]]);
      const auto y = load(b[row.offset[1] + i * row.step[1]]);
      if constexpr (is_real<T>)
        out.as<Out>()[row.begin + i] = store<Out>(evaluate(step, x, y));
      else
        out.as<Out>()[row.begin + i] = store<Out>(on_integers(operation, x, y));
    }
  });
}

}  // namespace

void ElementWise::infer(Inference& c) const {
  require_inputs(c, 2, 2);
  const bool is_remainder = operation == operation_of(PrivateOperation::kRemainder);
  require((operation >= Operation::kSUM && operation <= Operation::kLESS) || is_remainder,
          "expected an ElementWiseOperation (0 to 13), found {}", static_cast<int32_t>(operation));
  if (is_remainder) require_float(c, 0, "the dividend");
  require_type_of_data(c, 1, "the second operand");
  const DataType type = c.type(0);
  if (is_logical(operation))
    require(type == DataType::kBOOL, "expected bool operands, found {}", name_of(type));
  else if (operation != Operation::kEQUAL)
    require(type != DataType::kBOOL, "expected numeric operands, found bool");
  const bool gives_bool = is_logical(operation) || is_comparison(operation);
  Dims dims = broadcast(c.pool(), c.dims(0), c.dims(1));
  set_output_and_content(
      c, gives_bool ? DataType::kBOOL : type, std::move(dims), {0, 1}, [&](const Shape& out) {
        return broadcast_content(
            c, out, [&](Dim a, Dim b) { return expression(c.pool(), operation, a, b); });
      });
}

void ElementWise::reference(const ReferenceCall& call) const {
  with_type(call.inputs[0].type, [&](auto zero) {
    using T = decltype(zero);
    if (is_logical(operation) || is_comparison(operation))
      run<T, bool>(operation, call);
    else
      run<T, T>(operation, call);
  });
}

}  // namespace tenon
