// Quantisation and its inverse.
#include "import/onnx/quantization.h"

#include "ops/dequantize.h"
#include "ops/gather.h"
#include "ops/matrix_multiply.h"
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

void quantize_linear(NodeContext& n) {
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

void dequantize_linear(NodeContext& n) {
  n.expect_inputs(2, 3);
  auto op = std::make_unique<Dequantize>();
  op->layout = scale_layout(n);
  op->to = chosen_type(n).value_or(n.input(1).type);
  if (n.has_input(2))
    require(n.input(2).type == n.input(0).type,
            "expected a zero point (input 2) of the data's type {}, found {}",
            name_of(n.input(0).type), name_of(n.input(2).type));
  n.set_output(0, n.add(std::move(op), operands(n)));
}

std::vector<Value*> without_last_null(std::vector<Value*> values) {
  if (values.back() == nullptr) values.pop_back();
  return values;
}

}  // namespace

Value& dequantized(NodeContext& n, Value& x, Value& scale, Value* zero) {
  return n.add(std::make_unique<Dequantize>(), without_last_null({&x, &scale, zero}));
}

Value& quantized(NodeContext& n, Value& x, Value& scale, Value* zero, DataType type) {
  auto op = std::make_unique<Quantize>();
  op->to = type;
  return n.add(std::move(op), without_last_null({&x, &scale, zero}));
}

DynamicallyQuantized quantized_dynamically(NodeContext& n, Value& x) {
  const uint32_t all = (1u << n.rank(x)) - 1;
  Value& min =
      n.binary(Operation::kMIN, n.reduce(nvinfer1::ReduceOperation::kMIN, x, all, false), 0);
  Value& max =
      n.binary(Operation::kMAX, n.reduce(nvinfer1::ReduceOperation::kMAX, x, all, false), 0);
  Value& width = n.binary(Operation::kSUB, max, min);
  Value& quotient = n.binary(Operation::kDIV, width, 255);
  // Zeros only: any scale would do, and ONNX Runtime takes 1.
  Value& scale =
      n.select(n.binary(Operation::kEQUAL, quotient, 0), n.scalar(quotient, 1), quotient);
  Value& start = n.unary(nvinfer1::UnaryOperation::kNEG, n.binary(Operation::kDIV, min, scale));
  Value& clipped = n.activation(nvinfer1::ActivationType::kCLIP, start, 0, 255);
  Value& zero = n.cast(n.unary(nvinfer1::UnaryOperation::kROUND, clipped), DataType::kUINT8);
  return {&quantized(n, x, scale, &zero, DataType::kUINT8), &scale, &zero};
}

TENON_IMPORT_AS(QuantizeLinear, 10, "to int8, uint8, int4, float8e4m3fn and float4e2m1",
                quantize_linear);
TENON_IMPORT_AS(DequantizeLinear, 10, "", dequantize_linear);
TENON_IMPORT_MICROSOFT_AS(QuantizeLinear, "to int8, uint8 and int4", quantize_linear);
TENON_IMPORT_MICROSOFT_AS(DequantizeLinear, "", dequantize_linear);

TENON_IMPORT(DynamicQuantizeLinear, 11, "") {
  n.expect_inputs(1, 1);
  const DynamicallyQuantized q = quantized_dynamically(n, n.input(0));
  n.set_output(0, *q.values);
  n.set_output(1, *q.scale);
  n.set_output(2, *q.zero);
}

namespace {

// Blocks of K for each of N rows, two to a byte when `bits` is 4.
struct PackedMatrix {
  int64_t rows, columns, blocks, block, bits;
};

PackedMatrix packed_matrix(NodeContext& n) {
  PackedMatrix m{n.integer("N"), n.integer("K"), 0, n.integer("block_size"), n.integer("bits", 4)};
  n.ignore("accuracy_level");
  if (m.bits != 4 && m.bits != 8)
    fail_import(Code::kUNSUPPORTED_NODE_ATTR, "weights of {} bits are not supported yet", m.bits);
  constexpr int64_t kMaxExtent = int64_t{1} << 30;
  require(m.rows > 0 && m.columns > 0 && m.rows < kMaxExtent && m.columns < kMaxExtent
              && m.block >= 2 && m.block < kMaxExtent && m.block % 2 == 0,
          "attributes N, K and block_size are {}, {} and {}", m.rows, m.columns, m.block);
  m.blocks = (m.columns + m.block - 1) / m.block;
  return m;
}

// Unsigned nibbles less 8 are int4, with the highest bit flipped.
Value& nibbles(NodeContext& n, const Tensor& packed, const Shape& shape) {
  Tensor t(DataType::kINT4, shape);
  require(t.bytes() == packed.bytes(), "its weights take {} bytes; expected {}", packed.bytes(),
          t.bytes());
  n.charge(t.bytes());
  const auto* from = packed.data<uint8_t>();
  for (size_t i = 0; i < t.bytes(); ++i)
    t.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(from[i] ^ 0x88);
  return n.constant(std::move(t));
}

// One per block, as floats: those given, less what the weights had taken away.
Value& block_zeros(NodeContext& n, const PackedMatrix& m) {
  const double moved = m.bits == 4 ? 8 : 0;
  const Shape shape{m.rows, m.blocks};
  if (!n.has_input(3))
    return n.constant(filled_tensor(DataType::kFLOAT, shape, m.bits == 4 ? 0 : 128));
  const Tensor* given = n.constant_input(3);
  if (given == nullptr || given->type() != DataType::kUINT8) {
    Value& zeros =
        n.reshape(n.cast(n.input(3), DataType::kFLOAT), {n.number(m.rows), n.number(m.blocks)});
    return moved == 0 ? zeros : n.binary(Operation::kSUB, zeros, moved);
  }
  const int64_t row_bytes = (m.blocks * m.bits + 7) / 8;
  require(given->count() == m.rows * row_bytes, "it has {} bytes of zero points; expected {}",
          given->count(), m.rows * row_bytes);
  Tensor zeros(DataType::kFLOAT, shape);
  n.charge(zeros.bytes());
  const auto* bytes = given->data<uint8_t>();
  for (int64_t i = 0; i < zeros.count(); ++i) {
    const int64_t row = i / m.blocks, k = i % m.blocks;
    const int value = m.bits == 8 ? bytes[row * row_bytes + k]
                                  : bytes[row * row_bytes + k / 2] >> (k % 2 * 4) & 15;
    zeros.mutable_data<float>()[i] = static_cast<float>(value - moved);
  }
  return n.constant(std::move(zeros));
}

// (rows, columns) of a matrix whose rows end with a whole block.
Value& without_padding(NodeContext& n, const PackedMatrix& m, Value& x) {
  if (m.blocks * m.block == m.columns) return x;
  return n.slice(x, {n.number(0), n.number(0)}, {n.number(m.rows), n.number(m.columns)},
                 {n.number(1), n.number(1)});
}

// Input 4 says for each column which scale and zero point of its row it has.
Value& dequantized_by_group(NodeContext& n, const PackedMatrix& m, Value& q, Value& scale,
                            Value& zeros) {
  Value& groups = n.slice(n.input(4), {n.number(0)}, {n.number(m.columns)}, {n.number(1)});
  const auto spread = [&](Value& of_groups) -> Value& {
    auto op = std::make_unique<Gather>();
    op->axis = 1;
    return n.add(std::move(op), {&of_groups, &groups});
  };
  Value& numbers = without_padding(n, m, n.cast(q, DataType::kFLOAT));
  return n.binary(Operation::kPROD, n.binary(Operation::kSUB, numbers, spread(zeros)),
                  n.cast(spread(scale), DataType::kFLOAT));
}

Value& dequantized_by_block(NodeContext& n, const PackedMatrix& m, Value& q, Value& scale,
                            Value& zeros, DataType type) {
  auto op = std::make_unique<Dequantize>();
  op->layout.block = Shape{1, m.block};
  op->to = type;
  return without_padding(n, m, n.add(std::move(op), {&q, &scale, &zeros}));
}

}  // namespace

TENON_IMPORT_MICROSOFT(MatMulNBits, "4 and 8 bits, constant weights") {
  n.expect_inputs(3, 6);
  const PackedMatrix m = packed_matrix(n);
  const Tensor* weights = n.constant_input(1);
  if (weights == nullptr || weights->type() != DataType::kUINT8)
    fail_import(Code::kUNSUPPORTED_NODE,
                "weights that are not a constant of uint8 are not supported yet");
  const Shape shape{m.rows, m.blocks * m.block};
  Value& a = n.input(0);
  Value& q = m.bits == 4 ? nibbles(n, *weights, shape) : n.constant(weights->reshaped(shape));
  Value& scale = n.reshape(n.input(2), {n.number(m.rows), n.number(m.blocks)});
  Value& zeros = block_zeros(n, m);
  Value& matrix = n.has_input(4) ? n.cast(dequantized_by_group(n, m, q, scale, zeros), a.type)
                                 : dequantized_by_block(n, m, q, scale, zeros, a.type);
  auto product = std::make_unique<MatrixMultiply>();
  product->operation_b = nvinfer1::MatrixOperation::kTRANSPOSE;
  require(n.rank(a) >= 2, "its input has {} dimensions; expected at least 2", n.rank(a));
  Value& y = n.add(std::move(product), {&a, &n.with_rank(matrix, n.rank(a))});
  n.set_output(0, n.has_input(5) ? n.binary(Operation::kSUM, y, n.input(5)) : y);
}

}  // namespace tenon
