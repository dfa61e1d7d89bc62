// Operations on pairs of tensors, with broadcasting.
#include "import/node.h"
#include "ops/support/private_operation.h"

namespace tenon {
namespace {

using Operation = nvinfer1::ElementWiseOperation;
using nvinfer1::UnaryOperation;

// Before opset 7 the second operand was aligned by the attributes `broadcast` and `axis`.
Value& second_operand(NodeContext& n) {
  Value& b = n.input(1);
  n.ignore("consumed_inputs");
  if (n.opset() >= 7) return b;
  const bool broadcast = n.flag("broadcast", false);
  const bool has_axis = n.has("axis");
  const int rank = n.rank(n.input(0));
  const int64_t axis = n.integer("axis", 0);
  if (!broadcast || !has_axis || n.rank(b) == 0) return b;
  const int first = normalized_axis(axis, rank);
  require(first + n.rank(b) <= rank, "operand of rank {} does not fit at axis {} of rank {}",
          n.rank(b), axis, rank);
  std::vector<int> source(static_cast<size_t>(rank), -1);
  for (int i = 0; i < n.rank(b); ++i) source[static_cast<size_t>(first + i)] = i;
  return n.rearrange(b, source);
}

template <Operation operation> void pair(NodeContext& n) {
  n.expect_inputs(2, 2);
  Value& b = second_operand(n);
  n.set_output(0, n.binary(operation, n.input(0), b));
}

template <Operation operation> void or_equal(NodeContext& n) {
  // Not "not less": that would be true for NaN.
  n.expect_inputs(2, 2);
  Value& strict = n.binary(operation, n.input(0), n.input(1));
  Value& equal = n.binary(Operation::kEQUAL, n.input(0), n.input(1));
  n.set_output(0, n.binary(Operation::kOR, strict, equal));
}

template <Operation operation> Value& fold_inputs(NodeContext& n) {
  n.ignore("consumed_inputs");
  if (n.input_count() == 0)
    fail_import(nvonnxparser::ErrorCode::kINVALID_NODE, "it has no inputs; expected at least 1");
  Value* result = &n.input(0);
  for (int i = 1; i < n.input_count(); ++i) result = &n.binary(operation, *result, n.input(i));
  return *result;
}

template <Operation operation> void variadic(NodeContext& n) {
  n.set_output(0, fold_inputs<operation>(n));
}

}  // namespace

TENON_IMPORT_AS(Add, 1, "", pair<Operation::kSUM>);
TENON_IMPORT_AS(Sub, 1, "", pair<Operation::kSUB>);
TENON_IMPORT_AS(Mul, 1, "", pair<Operation::kPROD>);
TENON_IMPORT_AS(Div, 1, "", pair<Operation::kDIV>);
TENON_IMPORT_AS(And, 1, "", pair<Operation::kAND>);
TENON_IMPORT_AS(Or, 1, "", pair<Operation::kOR>);
TENON_IMPORT_AS(Xor, 1, "", pair<Operation::kXOR>);
TENON_IMPORT_AS(Equal, 1, "no strings", pair<Operation::kEQUAL>);
TENON_IMPORT_AS(Less, 1, "", pair<Operation::kLESS>);
TENON_IMPORT_AS(Greater, 1, "", pair<Operation::kGREATER>);
TENON_IMPORT_AS(LessOrEqual, 12, "", or_equal<Operation::kLESS>);
TENON_IMPORT_AS(GreaterOrEqual, 12, "", or_equal<Operation::kGREATER>);
TENON_IMPORT_AS(Max, 1, "", variadic<Operation::kMAX>);
TENON_IMPORT_AS(Min, 1, "", variadic<Operation::kMIN>);
TENON_IMPORT_AS(Sum, 1, "", variadic<Operation::kSUM>);

TENON_IMPORT(Mean, 1, "") {
  Value& sum = fold_inputs<Operation::kSUM>(n);
  n.set_output(0,
               n.input_count() == 1 ? sum : n.binary(Operation::kPROD, sum, 1.0 / n.input_count()));
}

TENON_IMPORT(Pow, 1, "") {
  // The result has the type of the base. Powers of integers by integers are exact.
  n.expect_inputs(2, 2);
  Value& exponent = second_operand(n);
  Value& base = n.input(0);
  if (n.is_float64(base)) {
    n.set_output(0, n.binary(Operation::kPOW, base, exponent));
    return;
  }
  const DataType type = is_float(base.type)       ? base.type
                        : is_float(exponent.type) ? DataType::kFLOAT
                                                  : DataType::kINT64;
  Value& power = n.binary(Operation::kPOW, n.cast(base, type), n.cast(exponent, type));
  n.set_output(0, n.cast(power, base.type));
}

namespace {

// With the dividend's sign, or with the divisor's: then one divisor is added where they differ.
Value& float_remainder(NodeContext& n, Value& a, Value& b, bool sign_of_dividend) {
  Value& remainder = n.binary(operation_of(PrivateOperation::kRemainder), a, b);
  if (sign_of_dividend) return remainder;
  Value& signs = n.binary(Operation::kPROD, n.unary(UnaryOperation::kSIGN, remainder),
                          n.unary(UnaryOperation::kSIGN, b));
  return n.select(n.binary(Operation::kLESS, signs, 0.0), n.binary(Operation::kSUM, remainder, b),
                  remainder);
}

}  // namespace

TENON_IMPORT(Mod, 10, "") {
  n.expect_inputs(2, 2);
  Value &a = n.input(0), &b = n.input(1);
  const bool sign_of_dividend = n.flag("fmod", false);
  if (n.is_real(a)) {
    n.set_output(0, float_remainder(n, a, b, sign_of_dividend));
    return;
  }
  const Operation division = sign_of_dividend ? Operation::kDIV : Operation::kFLOOR_DIV;
  Value& quotient = n.binary(division, a, b);
  n.set_output(0, n.binary(Operation::kSUB, a, n.binary(Operation::kPROD, quotient, b)));
}

TENON_IMPORT(Where, 9, "no strings") {
  n.expect_inputs(3, 3);
  n.set_output(0, n.select(n.input(0), n.input(1), n.input(2)));
}

}  // namespace tenon
