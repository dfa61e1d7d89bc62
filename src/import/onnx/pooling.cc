// Pooling; one spatial axis is treated as two.
#include "ops/pooling.h"

#include "import/node.h"
#include "import/onnx/window.h"
#include "ops/convolution.h"
#include "ops/max_unpool.h"

namespace tenon {
namespace {

using nvinfer1::PaddingMode;
using nvinfer1::PoolingType;
using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;
using Code = nvonnxparser::ErrorCode;
using Operation = nvinfer1::ElementWiseOperation;

std::vector<int64_t> kernel_shape(NodeContext& n, int spatial) {
  auto kernel = n.integers_in("kernel_shape");
  if (static_cast<int>(kernel.size()) != spatial)
    fail_import(Code::kINVALID_NODE, "attribute 'kernel_shape' has {} entries; expected {}",
                kernel.size(), spatial);
  return kernel;
}

std::unique_ptr<Pooling> pooling(NodeContext& n, PoolingType type, const OnnxWindow& w) {
  auto op = std::make_unique<Pooling>();
  op->type = type;
  w.apply(*op);
  op->dilation = w.padded(w.dilation, 1);
  if (n.flag("ceil_mode", false) && w.mode == PaddingMode::kEXPLICIT_ROUND_DOWN)
    op->padding_mode = PaddingMode::kEXPLICIT_ROUND_UP;
  return op;
}

void pool(NodeContext& n, PoolingType type) {
  n.expect_inputs(1, 1);
  const int spatial = spatial_axes(n);
  auto op = pooling(n, type, read_window(n, kernel_shape(n, spatial)));
  op->average_excludes_padding = !n.flag("count_include_pad", false);
  const bool columns_first = n.flag("storage_order", false);
  if (n.output_is_used(1))
    op->indices = columns_first ? PoolingIndices::kColumnsFirst : PoolingIndices::kRowsFirst;
  Value& x = spatial == 1 ? with_second_axis(n, n.input(0)) : n.input(0);
  const auto& outputs = n.add_node(std::move(op), {&x}).outputs;
  for (size_t i = 0; i < outputs.size(); ++i)
    n.set_output(static_cast<int>(i),
                 spatial == 1 ? without_second_axis(n, *outputs[i]) : *outputs[i]);
}

Value& power(NodeContext& n, Value& x, double exponent) {
  if (exponent == 1) return x;
  if (exponent == 2) return n.binary(Operation::kPROD, x, x);
  if (exponent == 0.5) return n.unary(UnaryOperation::kSQRT, x);
  return n.binary(Operation::kPOW, x, exponent);
}

// |x|^p summed by `sum`, and the root of that.
template <class Sum> Value& lp_norm(NodeContext& n, Value& given, const Sum& sum) {
  Value& x = n.widened(given);
  const double p = n.opset() < 2 ? double{n.real("p", 2)} : static_cast<double>(n.integer("p", 2));
  require(p > 0, "attribute 'p' is {}; expected a positive number", p);
  Value& powers = power(n, n.unary(UnaryOperation::kABS, x), p);
  return n.cast(power(n, sum(powers), 1 / p), given.type);
}

void pool_all(NodeContext& n, ReduceOperation operation) {
  Value& x = n.input(0);
  require(n.rank(x) >= 3, "its input has {} dimensions; expected at least 3", n.rank(x));
  n.set_output(0, n.reduce(operation, x, ((1u << n.rank(x)) - 1) & ~3u, true));
}

}  // namespace

TENON_IMPORT(MaxPool, 1, "1 to 3 spatial axes") {
  pool(n, PoolingType::kMAX);
}
TENON_IMPORT(AveragePool, 1, "1 to 3 spatial axes") {
  pool(n, PoolingType::kAVERAGE);
}
TENON_IMPORT(GlobalAveragePool, 1, "") {
  pool_all(n, ReduceOperation::kAVG);
}
TENON_IMPORT(GlobalMaxPool, 1, "") {
  pool_all(n, ReduceOperation::kMAX);
}

TENON_IMPORT(GlobalLpPool, 1, "") {
  Value& x = n.input(0);
  require(n.rank(x) >= 3, "its input has {} dimensions; expected at least 3", n.rank(x));
  n.set_output(0, lp_norm(n, x, [&](Value& powers) -> Value& {
                 return n.reduce(ReduceOperation::kSUM, powers, ((1u << n.rank(x)) - 1) & ~3u,
                                 true);
               }));
}

TENON_IMPORT(LpPool, 1, "1 to 3 spatial axes") {
  n.expect_inputs(1, 1);
  const int spatial = spatial_axes(n);
  const OnnxWindow w = read_window(n, kernel_shape(n, spatial));
  Value& x = spatial == 1 ? with_second_axis(n, n.input(0)) : n.input(0);
  double taps = 1;
  for (int64_t k : w.kernel) taps *= static_cast<double>(k);
  Value& y = lp_norm(n, x, [&](Value& powers) -> Value& {
    // The sum is the average over all taps, those in the padding too, times their number.
    auto op = pooling(n, PoolingType::kAVERAGE, w);
    op->average_excludes_padding = false;
    op->average_counts_all = true;
    return n.binary(Operation::kPROD, n.add(std::move(op), {&powers}), taps);
  });
  n.set_output(0, spatial == 1 ? without_second_axis(n, y) : y);
}

TENON_IMPORT(MaxUnpool, 9, "") {
  n.expect_inputs(2, 3);
  Value& x = n.input(0);
  const OnnxWindow w = read_window(n, kernel_shape(n, n.rank(x) - 2));
  auto op = std::make_unique<MaxUnpool>();
  op->window = Shape(std::span(w.kernel));
  op->stride = Shape(std::span(w.stride));
  op->pre_padding = Shape(std::span(w.before));
  op->post_padding = Shape(std::span(w.after));
  Value& y = n.add(std::move(op), {&x, &n.input(1)});
  if (!n.has_input(2)) {
    n.set_output(0, y);
    return;
  }
  // A larger output has zeros behind.
  const auto size = n.host_elements(2, "output_shape");
  require(size.size() == y.dims.size(), "its output_shape has {} elements; expected {}",
          size.size(), y.dims.size());
  const Dims zeros(size.size(), n.number(0)), ones(size.size(), n.number(1));
  n.set_output(0, n.slice(y, zeros, size, ones, nvinfer1::SampleMode::kFILL));
}

}  // namespace tenon
