// Normalisation, and softmax.
#include <cmath>

#include "base/half.h"
#include "import/node.h"
#include "ops/pooling.h"
#include "ops/scale.h"

namespace tenon {
namespace {

using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;
using Operation = nvinfer1::ElementWiseOperation;
using Code = nvonnxparser::ErrorCode;

// A vector over axis 1 of a tensor of that rank.
Value& along_channels(NodeContext& n, Value& v, int rank) {
  std::vector<int> source(static_cast<size_t>(rank), -1);
  source[1] = 0;
  return n.rearrange(v, source);
}

Tensor cast_tensor(const std::vector<double>& values, DataType type) {
  Tensor t(type, Shape{static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) {
    const auto v = static_cast<float>(values[i]);
    if (type == DataType::kHALF)
      t.mutable_data<Half>()[i] = static_cast<Half>(v);
    else if (type == DataType::kBF16)
      t.mutable_data<BFloat16>()[i] = BFloat16(v);
    else
      t.mutable_data<float>()[i] = v;
  }
  return t;
}

// Statistics that are constants become one multiplication and one addition per channel.
Value& scale_by_constants(NodeContext& n, Value& x, double epsilon) {
  std::vector<std::vector<double>> parameters;
  for (int i = 1; i < 5; ++i) parameters.push_back(n.constant_input(i)->numbers());
  const auto& [gamma, beta, mean, variance] =
      std::tie(parameters[0], parameters[1], parameters[2], parameters[3]);
  std::vector<double> scale, shift;
  for (size_t c = 0; c < gamma.size(); ++c) {
    scale.push_back(gamma[c] / std::sqrt(variance[c] + epsilon));
    shift.push_back(beta[c] - mean[c] * scale.back());
  }
  auto op = std::make_unique<Scale>();
  op->mode = nvinfer1::ScaleMode::kCHANNEL;
  Value& shifts = n.network().add_weight(cast_tensor(shift, x.type), n.node_name() + " shift");
  Value& scales = n.network().add_weight(cast_tensor(scale, x.type), n.node_name() + " scale");
  return n.add(std::move(op), {&x, &shifts, &scales});
}

Value& scale_by_tensors(NodeContext& n, Value& x, double epsilon) {
  const int rank = n.rank(x);
  const auto parameter = [&](int i) -> Value& {
    return along_channels(n, n.cast(n.input(i), x.type), rank);
  };
  Value& deviation =
      n.unary(UnaryOperation::kSQRT, n.binary(Operation::kSUM, parameter(4), epsilon));
  Value& centred = n.binary(Operation::kSUB, x, parameter(3));
  Value& scaled =
      n.binary(Operation::kPROD, n.binary(Operation::kDIV, centred, deviation), parameter(1));
  return n.binary(Operation::kSUM, scaled, parameter(2));
}

// (x - mean) / sqrt(variance + epsilon) over the axes; the parts are there for nodes that show
// them.
struct Normalized {
  Value *result, *mean, *inverse;
};
Normalized normalize(NodeContext& n, Value& x, uint32_t axes, double epsilon) {
  Value& mean = n.reduce(ReduceOperation::kAVG, x, axes, true);
  Value& centred = n.binary(Operation::kSUB, x, mean);
  Value& squares = n.binary(Operation::kPROD, centred, centred);
  Value& variance = n.reduce(ReduceOperation::kAVG, squares, axes, true);
  Value& deviation = n.unary(UnaryOperation::kSQRT, n.binary(Operation::kSUM, variance, epsilon));
  Value& inverse = n.unary(UnaryOperation::kRECIP, deviation);
  return {&n.binary(Operation::kPROD, centred, inverse), &mean, &inverse};
}

uint32_t axes_from(int first, int rank) {
  return ((1u << rank) - 1) & ~((1u << first) - 1);
}

}  // namespace

TENON_IMPORT(BatchNormalization, 1, "inference only") {
  n.expect_inputs(5, 5);
  n.ignore("consumed_inputs");
  n.ignore("momentum");
  n.ignore("is_test");
  const double epsilon = n.real("epsilon", 1e-5f);
  if (n.flag("training_mode", false))
    fail_import(Code::kUNSUPPORTED_NODE_ATTR,
                "attribute 'training_mode' is 1; training is not supported: export the model in "
                "evaluation mode");
  if (!n.flag("spatial", true))
    fail_import(Code::kUNSUPPORTED_NODE_ATTR,
                "attribute 'spatial' is 0, which is not supported yet");
  Value& x = n.input(0);
  require(n.rank(x) >= 2, "its input has {} dimensions; expected at least 2", n.rank(x));
  bool constant = true;
  for (int i = 1; i < 5; ++i) {
    const Tensor* t = n.constant_input(i);
    constant &= t != nullptr;
    require(
        n.rank(n.weight(i)) == 1
            && (t == nullptr
                || (n.constant_input(1) != nullptr && t->count() == n.constant_input(1)->count())),
        "input {} must be a vector with one element per channel", i);
  }
  n.set_output(0, constant ? scale_by_constants(n, x, epsilon) : scale_by_tensors(n, x, epsilon));
}

TENON_IMPORT(InstanceNormalization, 1, "") {
  n.expect_inputs(3, 3);
  n.ignore("consumed_inputs");
  Value& x = n.input(0);
  const int rank = n.rank(x);
  require(rank >= 3, "its input has {} dimensions; expected at least 3", rank);
  Value& normal = *normalize(n, x, axes_from(2, rank), n.real("epsilon", 1e-5f)).result;
  Value& scaled = n.binary(Operation::kPROD, normal, along_channels(n, n.input(1), rank));
  n.set_output(0, n.binary(Operation::kSUM, scaled, along_channels(n, n.input(2), rank)));
}

TENON_IMPORT(LayerNormalization, 17, "") {
  n.expect_inputs(2, 3);
  Value& given = n.input(0);
  const int axis = normalized_axis(n.integer("axis", -1), n.rank(given));
  n.ignore("stash_type");  // statistics are always float32
  const double epsilon = n.real("epsilon", 1e-5f);
  Value& x = n.cast(given, DataType::kFLOAT);
  const Normalized normal = normalize(n, x, axes_from(axis, n.rank(x)), epsilon);
  Value* y = &n.binary(Operation::kPROD, n.cast(*normal.result, given.type), n.input(1));
  if (n.has_input(2)) y = &n.binary(Operation::kSUM, *y, n.input(2));
  n.set_output(0, *y);
  n.set_output(1, *normal.mean);
  n.set_output(2, *normal.inverse);
}

TENON_IMPORT(RMSNormalization, 23, "") {
  n.expect_inputs(2, 2);
  Value& given = n.input(0);
  const int axis = normalized_axis(n.integer("axis", -1), n.rank(given));
  n.ignore("stash_type");
  Value& x = n.cast(given, DataType::kFLOAT);
  Value& squares = n.binary(Operation::kPROD, x, x);
  Value& mean = n.reduce(ReduceOperation::kAVG, squares, axes_from(axis, n.rank(x)), true);
  Value& root =
      n.unary(UnaryOperation::kSQRT, n.binary(Operation::kSUM, mean, n.real("epsilon", 1e-5f)));
  Value& normal = n.binary(Operation::kDIV, x, root);
  n.set_output(0, n.binary(Operation::kPROD, n.cast(normal, given.type), n.input(1)));
}

TENON_IMPORT(GroupNormalization, 18, "the channels must be known") {
  n.expect_inputs(3, 3);
  n.ignore("stash_type");
  Value& x = n.input(0);
  const int rank = n.rank(x);
  const int64_t groups = n.integer("num_groups");
  require(rank >= 3 && x.dims[1]->is_integer_constant(),
          "its input needs a known number of channels");
  const int64_t channels = x.dims[1]->value.integer;
  require(groups > 0 && channels % groups == 0, "{} channels cannot be split into {} groups",
          channels, groups);
  // (N, groups, everything else), normalised over the last axis. `rest` may only be known at run
  // time.
  Dim rest = n.number(channels / groups);
  for (size_t i = 2; i < x.dims.size(); ++i) rest = n.pool().mul(rest, x.dims[i]);
  Value& grouped = n.reshape(x, {x.dims[0], n.number(groups), rest});
  Value& flat = *normalize(n, grouped, 1u << 2, n.real("epsilon", 1e-5f)).result;
  n.know(x);
  Value* y = &n.reshape(flat, x.dims);
  const bool per_group = n.opset() < 21;
  const auto parameter = [&](int i) -> Value& {
    if (!per_group) return along_channels(n, n.input(i), rank);
    Value& column = n.rearrange(n.input(i), {0, -1});
    Value& repeated = n.expand(column, {n.number(groups), n.number(channels / groups)});
    return along_channels(n, n.reshape(repeated, {n.number(channels)}), rank);
  };
  y = &n.binary(Operation::kPROD, *y, parameter(1));
  n.set_output(0, n.binary(Operation::kSUM, *y, parameter(2)));
}

TENON_IMPORT(LRN, 1, "") {
  // The mean of squares over neighbouring channels is an average pooling of (N, 1, C, everything
  // else).
  Value& x = n.input(0);
  require(n.rank(x) >= 2, "its input has {} dimensions; expected at least 2", n.rank(x));
  const int64_t size = n.integer("size");
  require(size > 0 && size <= INT32_MAX, "attribute 'size' is {}", size);
  const float alpha = n.real("alpha", 1e-4f), beta = n.real("beta", 0.75f),
              bias = n.real("bias", 1);
  Dim rest = n.number(1);
  for (size_t i = 2; i < x.dims.size(); ++i) rest = n.pool().mul(rest, x.dims[i]);
  n.know(x);
  Value& squares = n.binary(Operation::kPROD, x, x);
  auto op = std::make_unique<Pooling>();
  op->type = nvinfer1::PoolingType::kAVERAGE;
  op->average_excludes_padding = false;
  op->window = Shape{size, 1};
  op->stride = Shape{1, 1};
  op->pre_padding = Shape{(size - 1) / 2, 0};
  op->post_padding = Shape{size / 2, 0};
  Value& planes = n.reshape(squares, {x.dims[0], n.number(1), x.dims[1], rest});
  Value& mean = n.reshape(n.add(std::move(op), {&planes}), x.dims);
  Value& base = n.binary(Operation::kSUM, n.binary(Operation::kPROD, mean, alpha), bias);
  n.set_output(0, n.binary(Operation::kDIV, x, n.binary(Operation::kPOW, base, beta)));
}

namespace {

// Before opset 13 the axes from `axis` on were one.
struct SoftmaxShape {
  Value* x;
  int axis;
};
SoftmaxShape softmax_shape(NodeContext& n) {
  Value& x = n.input(0);
  require(n.rank(x) > 0, "its input is a scalar; expected at least one dimension");
  if (n.opset() >= 13) return {&x, normalized_axis(n.integer("axis", -1), n.rank(x))};
  const int axis = normalized_axis(n.integer("axis", 1), n.rank(x));
  bool one_axis = true;
  for (size_t i = static_cast<size_t>(axis) + 1; i < x.dims.size(); ++i)
    one_axis &= x.dims[i]->is_integer_constant() && x.dims[i]->value.integer == 1;
  if (one_axis) return {&x, axis};
  Dim rows = n.number(1), columns = n.number(1);
  for (size_t i = 0; i < x.dims.size(); ++i) {
    Dim& product = static_cast<int>(i) < axis ? rows : columns;
    product = n.pool().mul(product, x.dims[i]);
  }
  n.know(x);
  return {&n.reshape(x, {rows, columns}), 1};
}

}  // namespace

TENON_IMPORT(Softmax, 1, "") {
  const auto [x, axis] = softmax_shape(n);
  n.set_output(0, n.reshape(n.softmax(*x, axis), n.input(0).dims));
}

TENON_IMPORT(LogSoftmax, 1, "") {
  // log(softmax(x)) would underflow: x - max - log(sum(exp(x - max))) does not.
  const auto [x, axis] = softmax_shape(n);
  Value& centred =
      n.binary(Operation::kSUB, *x, n.reduce(ReduceOperation::kMAX, *x, 1u << axis, true));
  Value& sum =
      n.reduce(ReduceOperation::kSUM, n.unary(UnaryOperation::kEXP, centred), 1u << axis, true);
  Value& y = n.binary(Operation::kSUB, centred, n.unary(UnaryOperation::kLOG, sum));
  n.set_output(0, n.reshape(y, n.input(0).dims));
}

}  // namespace tenon
