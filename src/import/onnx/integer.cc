// Convolutions and matrix products of quantised integers.
#include "import/onnx/integer.h"

#include "import/node.h"
#include "import/onnx/window.h"
#include "ops/matrix_multiply.h"
#include "ops/quantize.h"
#include "ops/quantized_convolution.h"
#include "ops/quantized_matrix_multiply.h"

namespace tenon {
namespace {

using Code = nvonnxparser::ErrorCode;
using Operation = nvinfer1::ElementWiseOperation;
using In = QuantizedInputs;

bool is_single(const Value& v) {
  for (Dim d : v.dims)
    if (!d->is_integer_constant() || d->value.integer != 1) return false;
  return true;
}

void drop_missing(std::vector<Value*>& inputs) {
  while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
}

std::vector<int64_t> kernel_extents(NodeContext& n, const Value& weights, int rank) {
  require(n.rank(weights) == rank, "its kernel has {} dimensions; its input has {}",
          n.rank(weights), rank);
  std::vector<int64_t> extents;
  for (Dim d : weights.dims) {
    if (!d->is_integer_constant())
      fail_import(Code::kUNSUPPORTED_NODE_DYNAMIC, "the kernel has a shape that is not constant");
    extents.push_back(d->value.integer);
  }
  return extents;
}

Value& convolution(NodeContext& n, DataType to, std::vector<Value*> inputs) {
  const int rank = n.rank(*inputs[In::kData]);
  require(rank >= 3 && rank <= 5,
          "its input has {} dimensions; expected 3 to 5 (batch, channels, 1 to 3 axes)", rank);
  const auto extents = kernel_extents(n, *inputs[In::kWeights], rank);
  const std::vector<int64_t> kernel(extents.begin() + 2, extents.end());
  const auto declared = n.integers_in("kernel_shape");
  require(declared.empty() || declared == kernel,
          "attribute 'kernel_shape' is [{}]; the kernel has [{}]", fmt::join(declared, ", "),
          fmt::join(kernel, ", "));
  const OnnxWindow w = read_window(n, kernel);
  const auto shape = [](const std::vector<int64_t>& v) { return Shape(std::span(v)); };
  auto op = std::make_unique<QuantizedConvolution>();
  op->to = to;
  op->output_channels = extents[0];
  op->groups = n.integer("group", 1);
  op->kernel = shape(w.kernel);
  op->stride = shape(w.stride);
  op->dilation = shape(w.dilation);
  op->pre_padding = shape(w.before);
  op->post_padding = shape(w.after);
  op->padding_mode = w.mode;
  drop_missing(inputs);
  return n.add(std::move(op), std::move(inputs));
}

// Any zero point per row, or per column of each matrix: products of 32-bit integers.
Value& plain_product(NodeContext& n, Value& a, Value* a_zero, Value& b, Value* b_zero) {
  const auto centred = [&](Value& x, Value* zero, bool rows) -> Value& {
    Value& wide = n.cast(x, DataType::kINT32);
    if (zero == nullptr) return wide;
    Value& z = rows && n.rank(*zero) == 1 ? n.rearrange(*zero, {0, -1}) : *zero;
    return n.binary(Operation::kSUB, wide, n.cast(z, DataType::kINT32));
  };
  return n.add(std::make_unique<MatrixMultiply>(),
               {&centred(a, a_zero, true), &centred(b, b_zero, false)});
}

}  // namespace

Value& integer_product(NodeContext& n, DataType to, std::vector<Value*> inputs) {
  Value *&a = inputs[In::kData], *&b = inputs[In::kWeights];
  const bool vector_a = n.rank(*a) == 1, vector_b = n.rank(*b) == 1;
  require(n.rank(*a) > 0 && n.rank(*b) > 0,
          "an operand is a scalar; expected at least one dimension");
  if (vector_a) a = &n.rearrange(*a, {-1, 0});
  if (vector_b) b = &n.rearrange(*b, {0, -1});
  const int rank = std::max(n.rank(*a), n.rank(*b));
  a = &n.with_rank(*a, rank);
  b = &n.with_rank(*b, rank);
  Value *a_zero = inputs[In::kDataZero], *b_zero = inputs[In::kWeightsZero];
  const bool lists = (a_zero == nullptr || is_single(*a_zero))
                     && (b_zero == nullptr || is_single(*b_zero) || n.rank(*b_zero) == 1);
  Value* y = nullptr;
  if (lists) {
    auto op = std::make_unique<QuantizedMatrixMultiply>();
    op->to = to;
    drop_missing(inputs);
    y = &n.add(std::move(op), std::move(inputs));
  } else {
    require(to == DataType::kINT32, "zero points per row are not supported yet here");
    y = &plain_product(n, *a, a_zero, *b, b_zero);
  }
  if (!vector_a && !vector_b) return *y;
  std::vector<int> axes;
  for (int i = 0; i < rank; ++i)
    if (!(vector_a && i == rank - 2) && !(vector_b && i == rank - 1)) axes.push_back(i);
  return n.rearrange(*y, axes);
}

Value& product_of_scales(NodeContext& n, Value& x, Value& w, Value* y) {
  Value& both =
      n.binary(Operation::kPROD, n.cast(x, DataType::kFLOAT), n.cast(w, DataType::kFLOAT));
  return y == nullptr ? both : n.binary(Operation::kDIV, both, n.cast(*y, DataType::kFLOAT));
}

TENON_IMPORT(ConvInteger, 10, "1 to 3 spatial axes") {
  n.expect_inputs(2, 4);
  std::vector<Value*> inputs{&n.input(0), &n.input(1), n.optional_input(2), n.optional_input(3)};
  n.set_output(0, convolution(n, DataType::kINT32, std::move(inputs)));
}

TENON_IMPORT(QLinearConv, 10, "1 to 3 spatial axes") {
  n.expect_inputs(8, 9);
  Value& zero = n.input(7);
  Value& scale = product_of_scales(n, n.input(1), n.input(4), &n.input(6));
  n.set_output(0, convolution(n, zero.type,
                              {&n.input(0), &n.input(3), &n.input(2), &n.input(5),
                               n.optional_input(8), &scale, &zero}));
}

TENON_IMPORT(MatMulInteger, 10, "") {
  n.expect_inputs(2, 4);
  n.set_output(
      0, integer_product(n, DataType::kINT32,
                         {&n.input(0), &n.input(1), n.optional_input(2), n.optional_input(3)}));
}

TENON_IMPORT(QLinearMatMul, 10, "") {
  n.expect_inputs(8, 8);
  Value &a_scale = n.input(1), &b_scale = n.input(4), &zero = n.input(7);
  Value &a_zero = n.input(2), &b_zero = n.input(5);
  const bool lists = is_single(a_scale) && is_single(a_zero)
                     && (is_single(b_scale) || n.rank(b_scale) == 1)
                     && (is_single(b_zero) || n.rank(b_zero) == 1);
  if (lists) {
    Value& scale = product_of_scales(n, a_scale, b_scale, &n.input(6));
    n.set_output(
        0, integer_product(n, zero.type,
                           {&n.input(0), &n.input(3), &a_zero, &b_zero, nullptr, &scale, &zero}));
    return;
  }
  // Scales per row: the exact sums are scaled as floats.
  Value& sums =
      n.cast(integer_product(n, DataType::kINT32, {&n.input(0), &n.input(3), &a_zero, &b_zero}),
             DataType::kFLOAT);
  Value& rows =
      n.rank(a_scale) == 1 && !is_single(a_scale) ? n.rearrange(a_scale, {0, -1}) : a_scale;
  auto op = std::make_unique<Quantize>();
  op->to = zero.type;
  n.set_output(0, n.add(std::move(op), {&n.binary(Operation::kPROD, sums,
                                                  product_of_scales(n, rows, b_scale, nullptr)),
                                        &n.input(6), &zero}));
}

}  // namespace tenon
