// Operations on each element of one tensor.
#include <limits>

#include "import/node.h"
#include "ops/identity.h"

namespace tenon {
namespace {

using nvinfer1::UnaryOperation;

template <UnaryOperation operation> void unary(NodeContext& n) {
  n.expect_inputs(1, 1);
  n.ignore("consumed_inputs");
  n.set_output(0, n.unary(operation, n.input(0)));
}

void pass_through(NodeContext& n) {
  n.set_output(0, n.add(std::make_unique<Identity>(), {&n.input(0)}));
}

}  // namespace

TENON_IMPORT_AS(Abs, 1, "", unary<UnaryOperation::kABS>);
TENON_IMPORT_AS(Neg, 1, "", unary<UnaryOperation::kNEG>);
TENON_IMPORT_AS(Exp, 1, "", unary<UnaryOperation::kEXP>);
TENON_IMPORT_AS(Log, 1, "", unary<UnaryOperation::kLOG>);
TENON_IMPORT_AS(Sqrt, 1, "", unary<UnaryOperation::kSQRT>);
TENON_IMPORT_AS(Reciprocal, 1, "", unary<UnaryOperation::kRECIP>);
TENON_IMPORT_AS(Floor, 1, "", unary<UnaryOperation::kFLOOR>);
TENON_IMPORT_AS(Ceil, 1, "", unary<UnaryOperation::kCEIL>);
TENON_IMPORT_AS(Round, 11, "", unary<UnaryOperation::kROUND>);
TENON_IMPORT_AS(Sign, 9, "", unary<UnaryOperation::kSIGN>);
TENON_IMPORT_AS(Erf, 9, "", unary<UnaryOperation::kERF>);
TENON_IMPORT_AS(Sin, 7, "", unary<UnaryOperation::kSIN>);
TENON_IMPORT_AS(Cos, 7, "", unary<UnaryOperation::kCOS>);
TENON_IMPORT_AS(Tan, 7, "", unary<UnaryOperation::kTAN>);
TENON_IMPORT_AS(Asin, 7, "", unary<UnaryOperation::kASIN>);
TENON_IMPORT_AS(Acos, 7, "", unary<UnaryOperation::kACOS>);
TENON_IMPORT_AS(Atan, 7, "", unary<UnaryOperation::kATAN>);
TENON_IMPORT_AS(Sinh, 9, "", unary<UnaryOperation::kSINH>);
TENON_IMPORT_AS(Cosh, 9, "", unary<UnaryOperation::kCOSH>);
TENON_IMPORT_AS(Asinh, 9, "", unary<UnaryOperation::kASINH>);
TENON_IMPORT_AS(Acosh, 9, "", unary<UnaryOperation::kACOSH>);
TENON_IMPORT_AS(Atanh, 9, "", unary<UnaryOperation::kATANH>);
TENON_IMPORT_AS(IsNaN, 9, "", unary<UnaryOperation::kISNAN>);
TENON_IMPORT_AS(Not, 1, "", unary<UnaryOperation::kNOT>);
TENON_IMPORT(Identity, 1, "") {
  if (n.has_input(0) && !std::holds_alternative<Value*>(n.inputs()[0]))
    n.set_output(0, n.inputs()[0]);
  else
    pass_through(n);
}

TENON_IMPORT(IsInf, 10, "") {
  Value& x = n.input(0);
  require(n.is_real(x), "expected input 0 of a floating-point type, found {}", name_of(x.type));
  const bool negative = n.flag("detect_negative", true), positive = n.flag("detect_positive", true);
  using Operation = nvinfer1::ElementWiseOperation;
  if (negative && positive) {
    n.set_output(0, n.unary(UnaryOperation::kISINF, x));
  } else if (negative || positive) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    n.set_output(0, n.binary(Operation::kEQUAL, x, positive ? kInfinity : -kInfinity));
  } else {
    Value& infinite = n.unary(UnaryOperation::kISINF, x);
    n.set_output(0, n.binary(Operation::kXOR, infinite, infinite));
  }
}

TENON_IMPORT(Dropout, 1, "inference only; a mask from opset 12 on") {
  n.ignore("consumed_inputs");
  n.ignore("is_test");
  n.ignore("ratio");
  n.ignore("seed");
  if (n.has_input(2)) {
    const auto training = n.integers_of(2, "training_mode");
    const Tensor* ratio = n.constant_input(1);
    const bool drops = ratio == nullptr || ratio->count() != 1 || ratio->numbers()[0] != 0;
    if (!training.empty() && training[0] != 0 && drops)
      fail_import(
          nvonnxparser::ErrorCode::kUNSUPPORTED_NODE,
          "training_mode is true; training is not supported: export the model in evaluation "
          "mode");
  }
  pass_through(n);
  if (!n.output_is_used(1) || n.opset() < 12) return;  // older ones do not say what the mask is
  // Nothing is dropped.
  Value& x = n.input(0);
  n.know(x);
  Value& kept = n.constant(filled_tensor(DataType::kBOOL, Shape::filled(n.rank(x), 1), 1));
  n.set_output(1, n.expand(kept, x.dims));
}

}  // namespace tenon
