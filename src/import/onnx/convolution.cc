// Convolution and transposed convolution; one spatial axis is treated as two.
#include "ops/convolution.h"

#include <algorithm>

#include "import/node.h"
#include "import/onnx/window.h"
#include "ops/concatenation.h"
#include "ops/deconvolution.h"
#include "ops/deformable_convolution.h"

namespace tenon {
namespace {

using nvinfer1::PaddingMode;
using Code = nvonnxparser::ErrorCode;
using Operation = nvinfer1::ElementWiseOperation;

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

OnnxWindow window_for_kernel(NodeContext& n, const std::vector<int64_t>& kernel) {
  const std::vector<int64_t> extents(kernel.begin() + 2, kernel.end());
  const auto declared = n.integers_in("kernel_shape");
  if (!declared.empty()
      && !std::equal(declared.begin(), declared.end(), extents.begin(), extents.end()))
    fail_import(Code::kINVALID_NODE, "attribute 'kernel_shape' is [{}]; the kernel has [{}]",
                fmt::join(declared, ", "), fmt::join(extents, ", "));
  return read_window(n, extents);
}

// Padding of a transposed convolution from the output size that the node asks for.
void pad_for_output(NodeContext& n, Deconvolution& op, const OnnxWindow& w, const Value& x) {
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

// As many as the data has.
std::vector<int64_t> kernel_dims(NodeContext& n, int spatial) {
  auto kernel = constant_dims(n, n.weight(1), "the kernel");
  require(kernel.size() == static_cast<size_t>(spatial) + 2,
          "its kernel has {} dimensions; its input has {}", kernel.size(), spatial + 2);
  return kernel;
}

}  // namespace

TENON_IMPORT(Conv, 1, "1 to 3 spatial axes") {
  n.expect_inputs(2, 3);
  const int spatial = spatial_axes(n);
  const auto kernel = kernel_dims(n, spatial);
  const OnnxWindow w = window_for_kernel(n, kernel);
  auto op = std::make_unique<Convolution>();
  op->output_channels = kernel[0];
  op->groups = n.integer("group", 1);
  w.apply(*op);
  op->dilation = w.padded(w.dilation, 1);
  Value& y = n.add(std::move(op), operands(n, spatial));
  n.set_output(0, spatial == 1 ? without_second_axis(n, y) : y);
}

namespace {

// What lies before a causal sequence: the state that is given, else zeros. (N, C, length).
Value& past_of(NodeContext& n, Value& x, int64_t length) {
  if (n.has_input(3)) return n.input(3);
  n.know(x);
  Value& zero = n.constant(filled_tensor(x.type, Shape{1, 1, 1}, 0));
  return n.expand(zero, {x.dims[0], x.dims[1], n.number(length)});
}

}  // namespace

TENON_IMPORT(CausalConvWithState, 27, "") {
  n.expect_inputs(2, 4);
  const std::string activation = n.text("activation", "none");
  require(activation == "none" || activation == "silu" || activation == "swish",
          "attribute 'activation' is '{}'; expected none, silu or swish", activation);
  require(n.rank(n.input(0)) == 3, "its input has {} dimensions; expected 3", n.rank(n.input(0)));
  const auto kernel = kernel_dims(n, 1);
  const int64_t past = kernel[2] - 1;
  require(kernel[1] == 1 && past >= 0, "its kernel is {}x{}x{}; expected C x 1 x k", kernel[0],
          kernel[1], kernel[2]);
  Value* x = &n.input(0);
  const Dims extents = x->dims;
  if (past > 0) {
    auto joined = std::make_unique<Concatenation>();
    joined->axis = 2;
    x = &n.add(std::move(joined), {&past_of(n, *x, past), x});
  }
  auto op = std::make_unique<Convolution>();
  op->output_channels = op->groups = kernel[0];
  OnnxWindow{{kernel[2]}, {1}, {1}, {0}, {0}}.apply(*op);
  op->dilation = Shape{1, 1};
  std::vector<Value*> inputs{&with_second_axis(n, *x), &kernel_of(n, 1)};
  if (n.has_input(2)) inputs.push_back(&n.weight(2));
  Value& y = without_second_axis(n, n.add(std::move(op), std::move(inputs)));
  Value& real = n.widened(y);
  n.set_output(0, activation == "none"
                      ? y
                      : n.cast(n.binary(Operation::kPROD, real,
                                        n.activation(nvinfer1::ActivationType::kSIGMOID, real)),
                               y.type));
  n.know(*x);
  n.set_output(1, n.slice(*x, {n.number(0), n.number(0), extents[2]},
                          {extents[0], extents[1], n.number(past)}, Dims(3, n.number(1))));
}

TENON_IMPORT(ConvTranspose, 1, "1 to 3 spatial axes") {
  n.expect_inputs(2, 3);
  const int spatial = spatial_axes(n);
  const auto kernel = kernel_dims(n, spatial);
  const OnnxWindow w = window_for_kernel(n, kernel);
  auto op = std::make_unique<Deconvolution>();
  op->groups = n.integer("group", 1);
  require(op->groups > 0 && kernel[1] <= INT64_MAX / op->groups, "attribute 'group' is {}",
          op->groups);
  op->output_channels = kernel[1] * op->groups;
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

TENON_IMPORT(DeformConv, 19, "2 spatial axes") {
  n.expect_inputs(3, 5);
  if (spatial_axes(n) != 2)
    fail_import(Code::kUNSUPPORTED_NODE_SHAPE,
                "its input has {} dimensions; only 4 are supported yet", n.rank(n.input(0)));
  const auto kernel = constant_dims(n, n.weight(1), "the kernel");
  require(kernel.size() == 4, "its kernel has {} dimensions; its input has 4", kernel.size());
  const OnnxWindow w = window_for_kernel(n, kernel);
  auto op = std::make_unique<DeformableConvolution>();
  op->groups = n.integer("group", 1);
  op->offset_groups = n.integer("offset_group", 1);
  op->stride = w.padded(w.stride, 1);
  op->dilation = w.padded(w.dilation, 1);
  op->pre_padding = w.padded(w.before, 0);
  op->post_padding = w.padded(w.after, 0);
  std::vector<Value*> inputs{&n.input(0), &n.weight(1), &n.input(2)};
  inputs.push_back(n.has_input(3) ? &n.weight(3) : nullptr);
  if (n.has_input(4)) inputs.push_back(&n.input(4));
  if (inputs.back() == nullptr) inputs.pop_back();
  n.set_output(0, n.add(std::move(op), std::move(inputs)));
}

namespace {

// (channels * taps, 1, kernel…): tap t of each channel has its 1 at t.
Tensor one_hot_kernels(NodeContext& n, int64_t channels, const Shape& kernel) {
  const int64_t taps = kernel.volume();
  require(channels * taps <= (int64_t{1} << 40) / taps, "{} channels of {} taps are too many",
          channels, taps);
  Shape shape{channels * taps, 1};
  for (int64_t extent : kernel) shape.push_back(extent);
  n.charge(static_cast<size_t>(shape.volume()) * sizeof(float));
  Tensor t = filled_tensor(DataType::kFLOAT, shape, 0);
  for (int64_t i = 0; i < channels * taps; ++i) t.mutable_data<float>()[i * taps + i % taps] = 1;
  return t;
}

}  // namespace

TENON_IMPORT(Col2Im, 18, "1 to 3 spatial axes; constant channels, image and block") {
  // A transposed convolution with one kernel for each tap adds up the blocks.
  n.expect_inputs(3, 3);
  Value& x = n.input(0);
  const auto image = n.integers_of(1, "image_shape"), block = n.integers_of(2, "block_shape");
  require(n.rank(x) == 3, "its input has {} dimensions; expected 3", n.rank(x));
  require(block.size() == image.size() && !block.empty() && block.size() <= 3,
          "its image has {} axes and its blocks have {}; expected the same, 1 to 3", image.size(),
          block.size());
  const OnnxWindow w = read_window(n, block);
  const int64_t taps = Shape(std::span(block)).volume();
  const Dim columns = x.dims[1];
  if (!columns->is_integer_constant())
    fail_import(Code::kUNSUPPORTED_NODE_DYNAMIC, "its input needs a constant number of columns");
  require(taps > 0 && columns->value.integer % taps == 0, "{} columns do not fit blocks of {}",
          columns->value.integer, taps);
  auto op = std::make_unique<Deconvolution>();
  op->groups = op->output_channels = columns->value.integer / taps;
  w.apply(*op);
  op->dilation = w.padded(w.dilation, 1);
  std::vector<int64_t> rest;
  Dims blocks{x.dims[0], columns};
  for (size_t i = 0; i < block.size(); ++i) {
    require(image[i] >= 0 && image[i] <= INT32_MAX, "its image has extent {} along axis {}",
            image[i], i);
    const int64_t reach = w.dilation[i] * (block[i] - 1) + 1;
    const int64_t slack = image[i] + w.before[i] + w.after[i] - reach;
    require(slack >= 0, "an image of {} elements along axis {} is smaller than its blocks",
            image[i], i);
    blocks.push_back(n.number(slack / w.stride[i] + 1));
    rest.push_back(slack % w.stride[i]);
  }
  op->output_padding = w.padded(rest, 0);
  if (block.size() == 1) blocks.push_back(n.number(1));
  n.know(x);
  const int64_t channels = op->output_channels;
  Value& kernels =
      n.network().add_weight(one_hot_kernels(n, channels, op->kernel), n.node_name() + " kernels");
  Value& data = n.cast(n.reshape(x, blocks), DataType::kFLOAT);
  Value& y = n.cast(n.add(std::move(op), {&data, &kernels}), x.type);
  n.set_output(0, block.size() == 1 ? without_second_axis(n, y) : y);
}

}  // namespace tenon
