// Elements picked and placed by indices and conditions, and running sums.
#include <algorithm>

#include "import/node.h"
#include "import/positions.h"
#include "ops/bit_cast.h"
#include "ops/bitwise.h"
#include "ops/cumulative.h"
#include "ops/float64_arithmetic.h"
#include "ops/gather.h"
#include "ops/non_zero.h"
#include "ops/one_hot.h"
#include "ops/reverse_sequence.h"
#include "ops/scatter.h"
#include "ops/unique.h"

namespace tenon {
namespace {

using Code = nvonnxparser::ErrorCode;
using Operation = nvinfer1::ElementWiseOperation;
using nvinfer1::ScatterMode;

Value& non_zero(NodeContext& n, Value& x) {
  auto op = std::make_unique<NonZero>();
  op->index_type = DataType::kINT64;
  return n.add(std::move(op), {&x});
}

ScatterReduction reduction_of(NodeContext& n) {
  const std::string name = n.text("reduction", "none");
  const char* const names[] = {"none", "add", "mul", "min", "max"};
  for (size_t i = 0; i < std::size(names); ++i)
    if (name == names[i]) return static_cast<ScatterReduction>(i);
  fail_import(Code::kINVALID_NODE,
              "attribute 'reduction' is '{}'; expected none, add, mul, min or max", name);
}

void scatter(NodeContext& n, ScatterMode mode) {
  n.expect_inputs(3, 3);
  auto op = std::make_unique<Scatter>();
  op->mode = mode;
  op->reduction = reduction_of(n);
  if (mode == ScatterMode::kELEMENT)
    op->axis = normalized_axis(n.integer("axis", 0), n.rank(n.input(0)));
  n.set_output(0, n.add(std::move(op), {&n.input(0), &as_indices(n, n.input(1)), &n.input(2)}));
}

void cumulative(NodeContext& n, CumulativeKind kind) {
  n.expect_inputs(2, 2);
  const auto add = [&](auto op, Cumulative& attributes) {
    attributes.operation = kind;
    attributes.exclusive = n.flag("exclusive", false);
    attributes.reverse = n.flag("reverse", false);
    n.set_output(0, n.add(std::move(op), {&n.input(0), &as_indices(n, n.input(1))}));
  };
  if (n.is_float64(n.input(0))) {
    auto op = std::make_unique<Float64Cumulative>();
    Cumulative& attributes = op->attributes;
    add(std::move(op), attributes);
  } else {
    auto op = std::make_unique<Cumulative>();
    Cumulative& attributes = *op;
    add(std::move(op), attributes);
  }
}

Value& bitwise(NodeContext& n, BitwiseOperation operation, Value& a, Value& b) {
  auto op = std::make_unique<Bitwise>();
  op->operation = operation;
  const int rank = std::max(n.rank(a), n.rank(b));
  return n.add(std::move(op), {&n.with_rank(a, rank), &n.with_rank(b, rank)});
}

template <BitwiseOperation operation> void bitwise(NodeContext& n) {
  n.expect_inputs(2, 2);
  n.set_output(0, bitwise(n, operation, n.input(0), n.input(1)));
}

}  // namespace

TENON_IMPORT(NonZero, 9, "") {
  n.expect_inputs(1, 1);
  n.set_output(0, non_zero(n, n.input(0)));
}

TENON_IMPORT(Compress, 9, "") {
  n.expect_inputs(2, 2);
  Value& x = n.input(0);
  Value& condition = n.input(1);
  require(n.rank(condition) == 1, "the condition has {} dimensions; expected 1", n.rank(condition));
  Value& found = non_zero(n, condition);
  Value& indices = n.reshape(found, {found.dims[1]});
  auto op = std::make_unique<Gather>();
  if (n.has("axis")) {
    op->axis = normalized_axis(n.integer("axis"), n.rank(x));
    n.set_output(0, n.add(std::move(op), {&x, &indices}));
    return;
  }
  Dim volume = n.number(1);
  for (Dim d : x.dims) volume = n.pool().mul(volume, d);
  n.set_output(0, n.add(std::move(op), {&n.reshape(x, {volume}), &indices}));
}

TENON_IMPORT(Unique, 11, "") {
  n.expect_inputs(1, 1);
  auto op = std::make_unique<Unique>();
  op->sorted = n.flag("sorted", true);
  op->has_axis = n.has("axis");
  if (op->has_axis) op->axis = normalized_axis(n.integer("axis"), n.rank(n.input(0)));
  Node& node = n.add_node(std::move(op), {&n.input(0)});
  for (int i = 0; i < 4; ++i) n.set_output(i, *node.outputs[static_cast<size_t>(i)]);
}

TENON_IMPORT(Scatter, 9, "") {
  scatter(n, ScatterMode::kELEMENT);
}
TENON_IMPORT(ScatterElements, 11, "") {
  scatter(n, ScatterMode::kELEMENT);
}
TENON_IMPORT(ScatterND, 11, "") {
  scatter(n, ScatterMode::kND);
}

TENON_IMPORT(OneHot, 9, "") {
  n.expect_inputs(3, 3);
  auto op = std::make_unique<OneHot>();
  op->axis = normalized_axis(n.integer("axis", -1), n.rank(n.input(0)) + 1);
  Value& depth = as_indices(n, n.input(1));
  n.set_output(0, n.add(std::move(op), {&as_indices(n, n.input(0)), &n.input(2), &depth}));
}

TENON_IMPORT(CumSum, 11, "") {
  cumulative(n, CumulativeKind::kSum);
}
TENON_IMPORT(CumProd, 26, "") {
  cumulative(n, CumulativeKind::kProduct);
}

TENON_IMPORT(ReverseSequence, 10, "") {
  n.expect_inputs(2, 2);
  const int rank = n.rank(n.input(0));
  auto op = std::make_unique<ReverseSequence>();
  op->batch_axis = normalized_axis(n.integer("batch_axis", 1), rank);
  op->sequence_axis = normalized_axis(n.integer("time_axis", 0), rank);
  n.set_output(0, n.add(std::move(op), {&n.input(0), &as_indices(n, n.input(1))}));
}

TENON_IMPORT(Trilu, 14, "") {
  n.expect_inputs(1, 2);
  Value& x = n.input(0);
  const int rank = n.rank(x);
  require(rank >= 2, "its input has {} dimensions; expected 2 or more", rank);
  n.know(x);
  const auto last = static_cast<size_t>(rank) - 1;
  Value& diagonal = diagonals(n, x.dims[last - 1], x.dims[last], rank);
  Value* k = n.optional_input(1);
  if (k != nullptr && n.rank(*k) != 0) k = &n.reshape(*k, {});
  Value& first = k != nullptr ? *k : n.scalar(diagonal, 0);
  const bool upper = n.flag("upper", true);
  Value& outside = n.binary(upper ? Operation::kLESS : Operation::kGREATER, diagonal, first);
  n.set_output(0, n.select(outside, n.scalar(x, 0), x));
}

TENON_IMPORT(BitCast, 26, "types of TensorRT, not float64") {
  n.expect_inputs(1, 1);
  const int64_t to = n.integer("to");
  const auto number = static_cast<int32_t>(std::clamp<int64_t>(to, 0, 1000));
  const auto type = data_type_of(number);
  if (!type || !is_exact(number))
    fail_import(Code::kUNSUPPORTED_NODE_DATATYPE, "elements of type {} are not supported yet",
                onnx_type_name(number));
  const DataType from = n.input(0).type;
  if (bits_of(from) != bits_of(*type))
    fail_import(Code::kUNSUPPORTED_NODE_DATATYPE,
                "reading {} as {}, of another size, is not supported (float64 is float32 here)",
                name_of(from), name_of(*type));
  auto op = std::make_unique<BitCast>();
  op->to = *type;
  n.set_output(0, n.add(std::move(op), {&n.input(0)}));
}

TENON_IMPORT(BitShift, 11, "") {
  n.expect_inputs(2, 2);
  const std::string direction = n.text("direction", "");
  require(direction == "LEFT" || direction == "RIGHT",
          "attribute 'direction' is '{}'; expected LEFT or RIGHT", direction);
  n.set_output(
      0,
      bitwise(n, direction == "LEFT" ? BitwiseOperation::kShiftLeft : BitwiseOperation::kShiftRight,
              n.input(0), n.input(1)));
}
TENON_IMPORT_AS(BitwiseAnd, 18, "", bitwise<BitwiseOperation::kAnd>);
TENON_IMPORT_AS(BitwiseOr, 18, "", bitwise<BitwiseOperation::kOr>);
TENON_IMPORT_AS(BitwiseXor, 18, "", bitwise<BitwiseOperation::kXor>);
TENON_IMPORT(BitwiseNot, 18, "") {
  n.expect_inputs(1, 1);
  Value& x = n.input(0);
  Value& ones = n.scalar(x, x.type == DataType::kUINT8 ? 255 : -1);
  n.set_output(0, bitwise(n, BitwiseOperation::kXor, x, ones));
}

}  // namespace tenon
