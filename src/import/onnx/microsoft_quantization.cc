// Quantised operators of com.microsoft; semantics from ONNX Runtime's ContribOperators.md. Those
// without a product compute in floats, between a Dequantize and a Quantize.
#include "import/node.h"
#include "import/onnx/integer.h"
#include "import/onnx/quantization.h"
#include "import/onnx/window.h"
#include "ops/concatenation.h"
#include "ops/matrix_multiply.h"
#include "ops/pooling.h"

namespace tenon {
namespace {

using Code = nvonnxparser::ErrorCode;
using nvinfer1::ActivationType;
using Operation = nvinfer1::ElementWiseOperation;

// Operand i with its scale and zero point, which follow it.
Value& operand(NodeContext& n, int i) {
  return dequantized(n, n.input(i), n.input(i + 1), n.optional_input(i + 2));
}

// The result, whose scale and zero point are inputs i and i + 1.
void set_result(NodeContext& n, Value& y, int i, DataType type) {
  n.set_output(0, quantized(n, y, n.input(i), n.optional_input(i + 1), type));
}

void binary(NodeContext& n, Operation operation) {
  n.expect_inputs(7, 8);
  const DataType type = n.input(0).type;
  set_result(n, n.binary(operation, operand(n, 0), operand(n, 3)), 6, type);
}

// Axis 1 is the channels', or the last one: brought to axis 1 and back.
Value& channels_first(NodeContext& n, Value& x, bool last, bool back) {
  if (!last) return x;
  std::vector<int32_t> order{0};
  const int rank = n.rank(x);
  if (back) {
    for (int i = 2; i < rank; ++i) order.push_back(i);
    order.push_back(1);
  } else {
    order.push_back(rank - 1);
    for (int i = 1; i < rank - 1; ++i) order.push_back(i);
  }
  return n.transpose(x, order);
}

Value& softmax_of(NodeContext& n, Value& x) {
  const int64_t opset = n.integer("opset", 13);
  const int axis = normalized_axis(n.integer("axis", opset < 13 ? 1 : -1), n.rank(x));
  if (opset >= 13) return n.softmax(x, axis);
  // Once, all axes from this one on were one.
  Dim outer = n.number(1), inner = n.number(1);
  for (int i = 0; i < n.rank(x); ++i) {
    Dim& side = i < axis ? outer : inner;
    side = n.pool().mul(side, x.dims[static_cast<size_t>(i)]);
  }
  const Dims extents = x.dims;
  return n.reshape(n.softmax(n.reshape(x, {outer, inner}), 1), extents);
}

// A bias of 32-bit integers that a product can take: one per column.
bool is_per_column(const NodeContext& n, const Value& bias) {
  for (int i = 0; i + 1 < n.rank(bias); ++i) {
    const Dim d = bias.dims[static_cast<size_t>(i)];
    if (!d->is_integer_constant() || d->value.integer != 1) return false;
  }
  return n.rank(bias) >= 1;
}

void gemm(NodeContext& n) {
  n.expect_inputs(6, 9);
  const float alpha = n.real("alpha", 1);
  Value *a = &n.input(0), *b = &n.input(3);
  if (n.flag("transA", false)) a = &n.transpose(*a, {1, 0});
  if (n.flag("transB", false)) b = &n.transpose(*b, {1, 0});
  Value* y_scale = n.optional_input(7);
  Value* y_zero = n.optional_input(8);
  Value* scale = &product_of_scales(n, n.input(1), n.input(4), nullptr);
  if (alpha != 1) scale = &n.binary(Operation::kPROD, *scale, alpha);
  Value* bias = n.optional_input(6);
  if (bias != nullptr && !is_per_column(n, *bias)) {
    Value& sums = n.binary(
        Operation::kSUM,
        integer_product(n, DataType::kINT32, {a, b, n.optional_input(2), n.optional_input(5)}),
        *bias);
    Value& y = n.binary(Operation::kPROD, n.cast(sums, DataType::kFLOAT), *scale);
    n.set_output(0, y_scale == nullptr ? y : quantized(n, y, *y_scale, y_zero, n.input(0).type));
    return;
  }
  if (bias != nullptr && n.rank(*bias) == 2) bias = &n.rearrange(*bias, {1});
  if (y_scale != nullptr) scale = &n.binary(Operation::kDIV, *scale, *y_scale);
  const DataType to = y_scale == nullptr  ? DataType::kFLOAT
                      : y_zero == nullptr ? n.input(0).type
                                          : y_zero->type;
  n.set_output(0, integer_product(n, to,
                                  {a, b, n.optional_input(2), n.optional_input(5), bias, scale,
                                   y_scale == nullptr ? nullptr : y_zero}));
}

// An exact product as floats, plus a bias of floats.
void set_float_product(NodeContext& n, Value& a, Value& b, Value& scale, Value* a_zero,
                       Value* b_zero, Value* bias) {
  const bool one_row = n.rank(scale) <= 1;
  Value* y = &integer_product(n, one_row ? DataType::kFLOAT : DataType::kINT32,
                              {&a, &b, a_zero, b_zero, nullptr, one_row ? &scale : nullptr});
  if (!one_row) y = &n.binary(Operation::kPROD, n.cast(*y, DataType::kFLOAT), scale);
  n.set_output(0, bias == nullptr ? *y : n.binary(Operation::kSUM, *y, *bias));
}

}  // namespace

TENON_IMPORT_MICROSOFT(QLinearAdd, "") {
  binary(n, Operation::kSUM);
}
TENON_IMPORT_MICROSOFT(QLinearMul, "") {
  binary(n, Operation::kPROD);
}

TENON_IMPORT_MICROSOFT(QLinearConcat, "") {
  require(n.input_count() >= 4, "it has {} inputs; expected at least 5", n.input_count());
  auto op = std::make_unique<Concatenation>();
  op->axis = normalized_axis(n.integer("axis"), n.rank(n.input(2)));
  const DataType type = n.input(1).type;
  std::vector<Value*> parts;
  for (int i = 2; i < n.input_count(); i += 3)
    parts.push_back(&quantized(n, operand(n, i), n.input(0), &n.input(1), type));
  n.set_output(0, n.add(std::move(op), std::move(parts)));
}

TENON_IMPORT_MICROSOFT(QLinearWhere, "") {
  n.expect_inputs(9, 9);
  Value& y = n.select(n.input(0), operand(n, 1), operand(n, 4));
  set_result(n, y, 7, n.input(8).type);
}

TENON_IMPORT_MICROSOFT(QLinearGlobalAveragePool, "") {
  n.expect_inputs(5, 5);
  const bool last = n.flag("channels_last", false);
  Value& x = channels_first(n, operand(n, 0), last, false);
  require(n.rank(x) >= 3, "its input has {} dimensions; expected at least 3", n.rank(x));
  const uint32_t axes = ((1u << n.rank(x)) - 1) & ~3u;
  Value& y = n.reduce(nvinfer1::ReduceOperation::kAVG, x, axes, true);
  set_result(n, channels_first(n, y, last, true), 3, n.input(0).type);
}

TENON_IMPORT_MICROSOFT(QLinearAveragePool, "1 to 3 spatial axes") {
  n.expect_inputs(4, 5);
  const bool last = n.flag("channels_last", false);
  Value* x = &channels_first(n, operand(n, 0), last, false);
  const auto kernel = n.integers_in("kernel_shape");
  const int spatial = n.rank(*x) - 2;
  require(spatial >= 1 && spatial <= 3 && static_cast<int>(kernel.size()) == spatial,
          "attribute 'kernel_shape' has {} entries for an input of {} dimensions", kernel.size(),
          spatial + 2);
  const OnnxWindow w = read_window(n, kernel);
  auto op = std::make_unique<Pooling>();
  op->type = nvinfer1::PoolingType::kAVERAGE;
  w.apply(*op);
  op->dilation = w.padded(w.dilation, 1);
  op->average_excludes_padding = !n.flag("count_include_pad", false);
  if (n.flag("ceil_mode", false) && w.mode == nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN)
    op->padding_mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_UP;
  if (spatial == 1) x = &with_second_axis(n, *x);
  Value* y = &n.add(std::move(op), {x});
  if (spatial == 1) y = &without_second_axis(n, *y);
  set_result(n, channels_first(n, *y, last, true), 3, n.input(0).type);
}

TENON_IMPORT_MICROSOFT(QLinearLeakyRelu, "") {
  n.expect_inputs(4, 5);
  set_result(n, n.activation(ActivationType::kLEAKY_RELU, operand(n, 0), n.real("alpha", 0.01f)), 3,
             n.input(0).type);
}

TENON_IMPORT_MICROSOFT(QLinearSigmoid, "") {
  n.expect_inputs(4, 5);
  set_result(n, n.activation(ActivationType::kSIGMOID, operand(n, 0)), 3, n.input(0).type);
}

TENON_IMPORT_MICROSOFT(QLinearSoftmax, "") {
  n.expect_inputs(4, 5);
  set_result(n, softmax_of(n, operand(n, 0)), 3, n.input(0).type);
}

TENON_IMPORT_MICROSOFT_AS(QGemm, "", gemm);

TENON_IMPORT_MICROSOFT(MatMulIntegerToFloat, "") {
  n.expect_inputs(4, 7);
  set_float_product(n, n.input(0), n.input(1),
                    product_of_scales(n, n.input(2), n.input(3), nullptr), n.optional_input(4),
                    n.optional_input(5), n.optional_input(6));
}

TENON_IMPORT_MICROSOFT(DynamicQuantizeMatMul, "") {
  n.expect_inputs(3, 5);
  const DynamicallyQuantized a = quantized_dynamically(n, n.input(0));
  set_float_product(n, *a.values, n.input(1), product_of_scales(n, *a.scale, n.input(2), nullptr),
                    a.zero, n.optional_input(3), n.optional_input(4));
}

}  // namespace tenon
