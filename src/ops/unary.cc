#include "ops/unary.h"

#include "ops/support/infer.h"
#include "ops/support/pointwise_program.h"
#include "ops/support/reference.h"

namespace tenon {

using nvinfer1::UnaryOperation;

TENON_REGISTER_OP(Unary);

void Unary::visit(FieldVisitor& v) {
  v("operation", operation);
}

namespace {

void check_type(const Inference& c, UnaryOperation operation) {
  switch (operation) {
    case UnaryOperation::kNOT:
      require(c.type(0) == DataType::kBOOL, "expected a bool input for NOT, found {}",
              name_of(c.type(0)));
      return;
    case UnaryOperation::kABS:
    case UnaryOperation::kNEG:
    case UnaryOperation::kSIGN:
      if (is_integer(c.type(0)) && bits_of(c.type(0)) >= 8) return;
      [[fallthrough]];
    default:
      require_float(c, 0, "the input");
  }
}

Dim expression(ExprPool& pool, UnaryOperation operation, Dim x) {
  switch (operation) {
    case UnaryOperation::kNEG:
      return pool.make(ExprOp::kNeg, x);
    case UnaryOperation::kABS:
      return pool.make(ExprOp::kAbs, x);
    case UnaryOperation::kSIGN:
      return pool.make(ExprOp::kSign, x);
    case UnaryOperation::kNOT:
      return pool.make(ExprOp::kNot, x);
    case UnaryOperation::kFLOOR:
      return pool.make(ExprOp::kFloor, x);
    case UnaryOperation::kCEIL:
      return pool.make(ExprOp::kCeil, x);
    case UnaryOperation::kROUND:
      return pool.make(ExprOp::kRoundEven, x);
    case UnaryOperation::kSQRT:
      return pool.make(ExprOp::kSqrt, x);
    case UnaryOperation::kEXP:
      return pool.make(ExprOp::kExp, x);
    case UnaryOperation::kLOG:
      return pool.make(ExprOp::kLog, x);
    case UnaryOperation::kRECIP:
      return pool.make(ExprOp::kDivide, pool.constant_float(1), x);
    default:
      fail(ErrorCode::kUNSUPPORTED_STATE, "not for shapes");
  }
}

bool gives_bool(UnaryOperation operation) {
  return operation == UnaryOperation::kNOT || operation == UnaryOperation::kISINF
         || operation == UnaryOperation::kISNAN;
}

int64_t on_integer(UnaryOperation operation, int64_t x) {
  switch (operation) {
    case UnaryOperation::kABS:
      return x < 0 ? static_cast<int64_t>(-static_cast<uint64_t>(x)) : x;
    case UnaryOperation::kNEG:
      return static_cast<int64_t>(-static_cast<uint64_t>(x));
    case UnaryOperation::kSIGN:
      return (x > 0) - (x < 0);
    case UnaryOperation::kNOT:
      return x == 0;
    default:
      fail(ErrorCode::kINTERNAL_ERROR, "unary operation {} on integers",
           static_cast<int32_t>(operation));
  }
}

template <class T, class Out>
void run(UnaryOperation operation, const TensorView& in, const TensorView& out) {
  const PointwiseStep step{PointwiseStep::Family::kUnary, static_cast<int32_t>(operation)};
  parallel_for(in.shape.volume(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto x = load(in.as<T>()[i]);
      if constexpr (is_real<T>)
        out.as<Out>()[i] = store<Out>(evaluate(step, x, 0));
      else
        out.as<Out>()[i] = store<Out>(on_integer(operation, x));
    }
  });
}

}  // namespace

void Unary::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  require(operation >= UnaryOperation::kEXP && operation <= UnaryOperation::kISNAN,
          "expected a UnaryOperation (0 to 24), found {}", static_cast<int32_t>(operation));
  check_type(c, operation);
  const DataType type = gives_bool(operation) ? DataType::kBOOL : c.type(0);
  set_output_and_content(c, type, c.dims(0), {0}, [&](const Shape&) {
    Content out;
    for (Dim x : *c.content(0)) out.push_back(expression(c.pool(), operation, x));
    return out;
  });
}

void Unary::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  require_output(out, in.shape);
  with_type(in.type, [&](auto zero) {
    using T = decltype(zero);
    if (gives_bool(operation))
      run<T, bool>(operation, in, out);
    else
      run<T, T>(operation, in, out);
  });
}

}  // namespace tenon
