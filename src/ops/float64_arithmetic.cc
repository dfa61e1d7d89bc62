#include "ops/float64_arithmetic.h"

#include "ops/support/infer.h"
#include "ops/support/private_operation.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Float64Pointwise);
TENON_REGISTER_OP(Float64Reduce);
TENON_REGISTER_OP(Float64Cumulative);

using Family = PointwiseStep::Family;
using nvinfer1::ElementWiseOperation;
using nvinfer1::UnaryOperation;

namespace {

PointwiseStep step_of(const Float64Pointwise& op) {
  return {op.family, op.function, 0, op.family == Family::kElementWise ? 1 : -1, op.alpha, op.beta};
}

bool is_logical(const Float64Pointwise& op) {
  if (op.family == Family::kUnary) return op.function == static_cast<int32_t>(UnaryOperation::kNOT);
  const auto operation = static_cast<ElementWiseOperation>(op.function);
  return op.family == Family::kElementWise
         && (operation == ElementWiseOperation::kAND || operation == ElementWiseOperation::kOR
             || operation == ElementWiseOperation::kXOR);
}

bool gives_bool(const Float64Pointwise& op) {
  if (op.family == Family::kUnary)
    return op.function == static_cast<int32_t>(UnaryOperation::kISINF)
           || op.function == static_cast<int32_t>(UnaryOperation::kISNAN);
  const auto operation = static_cast<ElementWiseOperation>(op.function);
  return op.family == Family::kElementWise
         && (operation == ElementWiseOperation::kEQUAL
             || operation == ElementWiseOperation::kGREATER
             || operation == ElementWiseOperation::kLESS);
}

Dim float64_expression(ExprPool& pool, UnaryOperation operation, Dim x) {
  switch (operation) {
    case UnaryOperation::kNEG:
      return pool.float64(ExprOp::kNeg, x);
    case UnaryOperation::kABS:
      return pool.float64(ExprOp::kAbs, x);
    case UnaryOperation::kSIGN:
      return pool.float64(ExprOp::kSign, x);
    case UnaryOperation::kFLOOR:
      return pool.float64(ExprOp::kFloor, x);
    case UnaryOperation::kCEIL:
      return pool.float64(ExprOp::kCeil, x);
    case UnaryOperation::kROUND:
      return pool.float64(ExprOp::kRoundEven, x);
    case UnaryOperation::kSQRT:
      return pool.float64(ExprOp::kSqrt, x);
    case UnaryOperation::kEXP:
      return pool.float64(ExprOp::kExp, x);
    case UnaryOperation::kLOG:
      return pool.float64(ExprOp::kLog, x);
    case UnaryOperation::kRECIP:
      return pool.float64(ExprOp::kDivide, pool.constant_float64(1), x);
    default:
      fail(ErrorCode::kUNSUPPORTED_STATE, "not for shapes");
  }
}

Dim float64_expression(ExprPool& pool, ElementWiseOperation operation, Dim a, Dim b) {
  if (operation == operation_of(PrivateOperation::kRemainder))
    return pool.float64(ExprOp::kTruncMod, a, b);
  switch (operation) {
    case ElementWiseOperation::kSUM:
      return pool.float64(ExprOp::kAdd, a, b);
    case ElementWiseOperation::kPROD:
      return pool.float64(ExprOp::kMul, a, b);
    case ElementWiseOperation::kMAX:
      return pool.float64(ExprOp::kMax, a, b);
    case ElementWiseOperation::kMIN:
      return pool.float64(ExprOp::kMin, a, b);
    case ElementWiseOperation::kSUB:
      return pool.float64(ExprOp::kSub, a, b);
    case ElementWiseOperation::kDIV:
      return pool.float64(ExprOp::kDivide, a, b);
    case ElementWiseOperation::kPOW:
      return pool.float64(ExprOp::kPow, a, b);
    case ElementWiseOperation::kEQUAL:
      return pool.float64(ExprOp::kEqual, a, b);
    case ElementWiseOperation::kGREATER:
      return pool.float64(ExprOp::kLess, b, a);
    case ElementWiseOperation::kLESS:
      return pool.float64(ExprOp::kLess, a, b);
    default:
      fail(ErrorCode::kUNSUPPORTED_STATE, "not for shapes");
  }
}

Content content_of(const Float64Pointwise& op, Inference& c, const Shape& out) {
  if (op.family == Family::kElementWise)
    return broadcast_content(c, out, [&](Dim a, Dim b) {
      return float64_expression(c.pool(), static_cast<ElementWiseOperation>(op.function), a, b);
    });
  if (op.family == Family::kActivation) fail(ErrorCode::kUNSUPPORTED_STATE, "not for shapes");
  Content content;
  for (Dim x : *c.content(0))
    content.push_back(float64_expression(c.pool(), static_cast<UnaryOperation>(op.function), x));
  return content;
}

template <class Out> void run(const Float64Pointwise& op, const ReferenceCall& call) {
  const TensorView& out = call.outputs[0];
  const PointwiseStep step = step_of(op);
  const TensorView &first = call.inputs[0], &second = call.inputs[call.inputs.size() - 1];
  const Shape strides[] = {broadcast_strides(first.shape, out.shape),
                           broadcast_strides(second.shape, out.shape)};
  for_rows(out.shape, strides, [&](const Row& row) {
    const double* a = first.as<double>() + row.offset[0];
    const double* b = second.as<double>() + row.offset[1];
    for (int64_t i = 0; i < row.length; ++i)
      out.as<Out>()[row.begin + i] =
          static_cast<Out>(evaluate_float64(step, a[i * row.step[0]], b[i * row.step[1]]));
  });
}

}  // namespace

void Float64Pointwise::visit(FieldVisitor& v) {
  v("family", family);
  v("function", function);
  v("alpha", alpha);
  v("beta", beta);
}

void Float64Pointwise::infer(Inference& c) const {
  const int operands = family == Family::kElementWise ? 2 : 1;
  require_inputs(c, operands, operands);
  PointwiseProgram{operands, {}, {step_of(*this)}}.check();
  require(!is_logical(*this), "expected an operation of numbers, found a logical one ({})",
          function);
  for (int i = 0; i < operands; ++i) require_float64(c, i);
  Dims dims = operands == 1 ? c.dims(0) : broadcast(c.pool(), c.dims(0), c.dims(1));
  const DataType type = gives_bool(*this) ? DataType::kBOOL : DataType::kINT64;
  const auto content = [&](const Shape& out) { return content_of(*this, c, out); };
  if (operands == 1)
    set_output_and_content(c, type, std::move(dims), {0}, content);
  else
    set_output_and_content(c, type, std::move(dims), {0, 1}, content);
}

void Float64Pointwise::reference(const ReferenceCall& call) const {
  if (gives_bool(*this))
    run<bool>(*this, call);
  else
    run<double>(*this, call);
}

void Float64Reduce::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  require_float64(c, 0);
  c.set_output(0, DataType::kINT64, attributes.reduced(c));
}

void Float64Reduce::reference(const ReferenceCall& call) const {
  std::vector<std::byte> scratch(attributes.scratch_bytes(call));
  attributes.run_float64(call, scratch.data());
}

void Float64Cumulative::infer(Inference& c) const {
  require_inputs(c, 2, 2);
  require_float64(c, 0);
  attributes.infer(c);
}

void Float64Cumulative::reference(const ReferenceCall& call) const {
  attributes.run_float64(call);
}

}  // namespace tenon
