// Convolution, transposed convolution and pooling; one spatial axis is treated as two.
#include "ops/convolution.h"

#include <algorithm>

#include "import/node.h"
#include "import/onnx/window.h"
#include "ops/deconvolution.h"
#include "ops/pooling.h"

namespace tenon {
namespace {

using nvinfer1::PaddingMode;
using Code = nvonnxparser::ErrorCode;
using Operation = nvinfer1::ElementWiseOperation;

int spatial_axes(NodeContext& n) {
  const int spatial = n.rank(n.input(0)) - 2;
  if (spatial < 1 || spatial > 3)
    fail_import(Code::kUNSUPPORTED_NODE_SHAPE,
                "its input has {} dimensions; expected 3 to 5 (batch, channels, 1 to 3 axes)",
                spatial + 2);
  return spatial;
}

std::vector<int64_t> constant_dims(NodeContext& n, const Value& v, const char* what) {
  std::vector<int64_t> extents;
  for (Dim d : v.dims) {
    if (!d->is_integer_constant())
      fail_import(Code::kUNSUPPORTED_NODE_DYNAMIC, "{} has a shape that is not constant", what);
    extents.push_back(d->value.integer);
  }
  return extents;
}

// The kernel's weights, with a second spatial axis where there is one.
Value& kernel_of(NodeContext& n, int spatial) {
  Value& kernel = n.weight(1);
  if (n.rank(kernel) != spatial + 2)
    fail_import(Code::kINVALID_NODE, "its kernel has {} dimensions; its input has {}",
                n.rank(kernel), spatial + 2);
  if (spatial > 1) return kernel;
  if (!kernel.is_weight()) return with_second_axis(n, kernel);
  Shape shape = kernel.constant->shape();
  shape.push_back(1);
  return n.network().add_weight(kernel.constant->reshaped(shape), kernel.name);
}

std::vector<Value*> operands(NodeContext& n, int spatial) {
  Value& x = spatial == 1 ? with_second_axis(n, n.input(0)) : n.input(0);
  std::vector<Value*> inputs{&x, &kernel_of(n, spatial)};
  if (n.has_input(2)) inputs.push_back(&n.weight(2));
  return inputs;
}

Window window_for_kernel(NodeContext& n, const std::vector<int64_t>& kernel) {
  const std::vector<int64_t> extents(kernel.begin() + 2, kernel.end());
  const auto declared = n.integers_in("kernel_shape");
  if (!declared.empty()
      && !std::equal(declared.begin(), declared.end(), extents.begin(), extents.end()))
    fail_import(Code::kINVALID_NODE, "attribute 'kernel_shape' is [{}]; the kernel has [{}]",
                fmt::join(declared, ", "), fmt::join(extents, ", "));
  return read_window(n, extents);
}

// Padding of a transposed convolution from the output size that the node asks for.
void pad_for_output(NodeContext& n, Deconvolution& op, const Window& w, const Value& x) {
  const auto wanted = n.integers_in("output_shape");
  const auto axes = static_cast<int>(w.kernel.size());
  for (int i = 0; i < axes; ++i) {
    const auto k = static_cast<size_t>(i);
    // Without output_shape, SAME means input * stride, so the input's size cancels out.
    int64_t total = op.output_padding[i] + (w.kernel[k] - 1) * w.dilation[k] + 1 - w.stride[k];
    if (!wanted.empty()) {
      const Dim in = x.dims[k + 2];
      if (!in->is_integer_constant())
        fail_import(Code::kUNSUPPORTED_NODE_DYNAMIC,
                    "attribute 'output_shape' with an input of unknown size is not supported yet");
      const size_t at = wanted.size() - static_cast<size_t>(axes) + k;
      require(wanted.size() >= static_cast<size_t>(axes), "attribute 'output_shape' is too short");
      require(wanted[at] >= 0 && wanted[at] <= INT32_MAX && in->value.integer <= INT32_MAX,
              "attribute 'output_shape' holds {} for an input of {}", wanted[at], text_of(in));
      total += in->value.integer * w.stride[k] - wanted[at];
    }
    if (total < 0) {
      op.output_padding[i] -= total;
      total = 0;
    }
    const int64_t half = total / 2;
    const bool extra_first = w.mode != PaddingMode::kSAME_UPPER;
    op.pre_padding[i] = extra_first ? total - half : half;
    op.post_padding[i] = total - op.pre_padding[i];
  }
}

}  // namespace

TENON_IMPORT(Conv, 1, "1 to 3 spatial axes") {
  n.expect_inputs(2, 3);
  const int spatial = spatial_axes(n);
  const auto kernel = constant_dims(n, n.weight(1), "the kernel");
  require(kernel.size() == static_cast<size_t>(spatial) + 2,
          "its kernel has {} dimensions; its input has {}", kernel.size(), spatial + 2);
  const Window w = window_for_kernel(n, kernel);
  auto op = std::make_unique<Convolution>();
  op->output_maps = kernel[0];
  op->groups = n.integer("group", 1);
  w.apply(*op);
  op->dilation = w.padded(w.dilation, 1);
  Value& y = n.add(std::move(op), operands(n, spatial));
  n.set_output(0, spatial == 1 ? without_second_axis(n, y) : y);
}

TENON_IMPORT(ConvTranspose, 1, "1 to 3 spatial axes") {
  n.expect_inputs(2, 3);
  const int spatial = spatial_axes(n);
  const auto kernel = constant_dims(n, n.weight(1), "the kernel");
  require(kernel.size() == static_cast<size_t>(spatial) + 2,
          "its kernel has {} dimensions; its input has {}", kernel.size(), spatial + 2);
  const Window w = window_for_kernel(n, kernel);
  auto op = std::make_unique<Deconvolution>();
  op->groups = n.integer("group", 1);
  require(op->groups > 0 && kernel[1] <= INT64_MAX / op->groups, "attribute 'group' is {}",
          op->groups);
  op->output_maps = kernel[1] * op->groups;
  w.apply(*op);
  op->dilation = w.padded(w.dilation, 1);
  auto output_padding = n.integers_in("output_padding");
  if (output_padding.empty()) output_padding.assign(static_cast<size_t>(spatial), 0);
  require(output_padding.size() == static_cast<size_t>(spatial),
          "attribute 'output_padding' has {} entries; expected {}", output_padding.size(), spatial);
  for (int64_t p : output_padding)
    require(p >= 0 && p <= INT32_MAX, "attribute 'output_padding' holds {}", p);
  op->output_padding = w.padded(output_padding, 0);
  if (n.has("output_shape") || w.mode != PaddingMode::kEXPLICIT_ROUND_DOWN) {
    pad_for_output(n, *op, w, n.input(0));
    op->padding_mode = PaddingMode::kEXPLICIT_ROUND_DOWN;
  }
  Value& y = n.add(std::move(op), operands(n, spatial));
  n.set_output(0, spatial == 1 ? without_second_axis(n, y) : y);
}

namespace {

void pool(NodeContext& n, nvinfer1::PoolingType type) {
  n.expect_inputs(1, 1);
  const int spatial = spatial_axes(n);
  const auto kernel = n.integers_in("kernel_shape");
  if (static_cast<int>(kernel.size()) != spatial)
    fail_import(Code::kINVALID_NODE, "attribute 'kernel_shape' has {} entries; expected {}",
                kernel.size(), spatial);
  const Window w = read_window(n, kernel);
  auto op = std::make_unique<Pooling>();
  op->type = type;
  w.apply(*op);
  op->dilation = w.padded(w.dilation, 1);
  op->average_excludes_padding = !n.flag("count_include_pad", false);
  if (n.flag("ceil_mode", false) && w.mode == PaddingMode::kEXPLICIT_ROUND_DOWN)
    op->padding_mode = PaddingMode::kEXPLICIT_ROUND_UP;
  n.ignore("storage_order");
  Value& x = spatial == 1 ? with_second_axis(n, n.input(0)) : n.input(0);
  Value& y = n.add(std::move(op), {&x});
  n.set_output(0, spatial == 1 ? without_second_axis(n, y) : y);
}

void pool_all(NodeContext& n, nvinfer1::ReduceOperation operation) {
  Value& x = n.input(0);
  require(n.rank(x) >= 3, "its input has {} dimensions; expected at least 3", n.rank(x));
  const uint32_t axes = ((1u << n.rank(x)) - 1) & ~3u;
  n.set_output(0, n.reduce(operation, x, axes, true));
}

}  // namespace

TENON_IMPORT(MaxPool, 1, "1 to 3 spatial axes; Indices is not an output") {
  pool(n, nvinfer1::PoolingType::kMAX);
}
TENON_IMPORT(AveragePool, 1, "1 to 3 spatial axes") {
  pool(n, nvinfer1::PoolingType::kAVERAGE);
}
TENON_IMPORT(GlobalAveragePool, 1, "") {
  pool_all(n, nvinfer1::ReduceOperation::kAVG);
}
TENON_IMPORT(GlobalMaxPool, 1, "") {
  pool_all(n, nvinfer1::ReduceOperation::kMAX);
}

}  // namespace tenon
