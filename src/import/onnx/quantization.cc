// Quantisation and its inverse.
#include "import/node.h"
#include "ops/dequantize.h"
#include "ops/quantize.h"

namespace tenon {
namespace {

using Code = nvonnxparser::ErrorCode;
using Operation = nvinfer1::ElementWiseOperation;

// One scale, one per position of an axis, or one per block of an axis.
ScaleLayout scale_layout(NodeContext& n) {
  const Value& x = n.input(0);
  ScaleLayout layout;
  const int64_t axis = n.integer("axis", 1), size = n.integer("block_size", 0);
  require(size >= 0, "attribute 'block_size' is {}; expected 0 or more", size);
  if (n.rank(n.input(1)) == 0) return layout;
  if (size > 0) {
    layout.block = Shape::filled(n.rank(x), 1);
    layout.block[normalized_axis(axis, n.rank(x))] = size;
    return layout;
  }
  // Of rank 1 there is only axis 0: models leave the default, 1, where there is one scale.
  layout.axis = n.rank(x) <= 1 ? 0 : normalized_axis(axis, n.rank(x));
  return layout;
}

std::optional<DataType> chosen_type(NodeContext& n) {
  const auto number = static_cast<int32_t>(n.integer("output_dtype", 0));
  if (number == 0) return std::nullopt;
  const auto type = data_type_of(number);
  if (!type || !is_exact(number))
    fail_import(Code::kUNSUPPORTED_NODE_DATATYPE, "an output of type {} is not supported yet",
                onnx_type_name(number));
  return type;
}

std::vector<Value*> operands(NodeContext& n) {
  std::vector<Value*> values{&n.input(0), &n.input(1)};
  // A small float's zero point can only be 0.
  if (n.has_input(2) && !is_float(n.input(2).type)) values.push_back(&n.input(2));
  return values;
}

}  // namespace

TENON_IMPORT(QuantizeLinear, 10, "to int8, uint8, int4, float8e4m3fn and float4e2m1") {
  n.expect_inputs(2, 3);
  n.ignore("precision");  // the quotient is rounded once, from float32
  auto op = std::make_unique<Quantize>();
  op->layout = scale_layout(n);
  op->saturate = n.flag("saturate", true);
  const auto chosen = chosen_type(n);
  const DataType implied = n.has_input(2) ? n.input(2).type : DataType::kUINT8;
  op->to = chosen.value_or(implied);
  require(!chosen || !n.has_input(2) || *chosen == implied,
          "attribute 'output_dtype' says {}, but the zero point is of type {}", name_of(op->to),
          name_of(implied));
  if (op->to == DataType::kINT32)
    fail_import(Code::kUNSUPPORTED_NODE_DATATYPE,
                "quantising to 16-bit integers is not supported yet");
  n.set_output(0, n.add(std::move(op), operands(n)));
}

TENON_IMPORT(DequantizeLinear, 10, "") {
  n.expect_inputs(2, 3);
  auto op = std::make_unique<Dequantize>();
  op->layout = scale_layout(n);
  op->to = chosen_type(n).value_or(n.input(1).type);
  n.set_output(0, n.add(std::move(op), operands(n)));
}

TENON_IMPORT(DynamicQuantizeLinear, 11, "") {
  n.expect_inputs(1, 1);
  Value& x = n.input(0);
  const uint32_t all = (1u << n.rank(x)) - 1;
  Value& least =
      n.binary(Operation::kMIN, n.reduce(nvinfer1::ReduceOperation::kMIN, x, all, false), 0);
  Value& most =
      n.binary(Operation::kMAX, n.reduce(nvinfer1::ReduceOperation::kMAX, x, all, false), 0);
  Value& width = n.binary(Operation::kSUB, most, least);
  Value& quotient = n.binary(Operation::kDIV, width, 255);
  // Zeros only: any scale would do, and ONNX Runtime takes 1.
  Value& scale =
      n.select(n.binary(Operation::kEQUAL, quotient, 0), n.scalar(quotient, 1), quotient);
  Value& start = n.unary(nvinfer1::UnaryOperation::kNEG, n.binary(Operation::kDIV, least, scale));
  Value& clipped = n.activation(nvinfer1::ActivationType::kCLIP, start, 0, 255);
  Value& zero = n.cast(n.unary(nvinfer1::UnaryOperation::kROUND, clipped), DataType::kUINT8);
  auto op = std::make_unique<Quantize>();
  op->to = DataType::kUINT8;
  n.set_output(0, n.add(std::move(op), {&x, &scale, &zero}));
  n.set_output(1, scale);
  n.set_output(2, zero);
}

}  // namespace tenon
