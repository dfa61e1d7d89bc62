// Normalisation, and softmax.
#include "ops/normalization.h"

#include <cmath>

#include "base/half.h"
#include "import/node.h"
#include "ops/lrn.h"
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

Tensor floats(const std::vector<double>& values) {
  Tensor t(DataType::kFLOAT, Shape{static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), t.mutable_data<float>());
  return t;
}

// Statistics that are constants become one multiplication and one addition per channel, in float32
// whatever the data is: they are rounded but once, when they meet the weights of a convolution.
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
  Value& shifts = n.network().add_weight(floats(shift), n.node_name() + " shift");
  Value& scales = n.network().add_weight(floats(scale), n.node_name() + " scale");
  return n.add(std::move(op), {&x, &shifts, &scales});
}

// Per channel, or per activation as nodes of opset 8 and before may ask for.
Value& parameter(NodeContext& n, int i, const Value& x, bool spatial) {
  Value& p = n.cast(n.input(i), x.type);
  return spatial ? along_channels(n, p, n.rank(x)) : n.with_rank(p, n.rank(x));
}

Value& scale_by_tensors(NodeContext& n, Value& x, double epsilon, bool spatial) {
  Value& deviation = n.unary(UnaryOperation::kSQRT,
                             n.binary(Operation::kSUM, parameter(n, 4, x, spatial), epsilon));
  Value& centred = n.binary(Operation::kSUB, x, parameter(n, 3, x, spatial));
  Value& scaled = n.binary(Operation::kPROD, n.binary(Operation::kDIV, centred, deviation),
                           parameter(n, 1, x, spatial));
  return n.binary(Operation::kSUM, scaled, parameter(n, 2, x, spatial));
}

uint32_t axes_from(int first, int rank) {
  return ((1u << rank) - 1) & ~((1u << first) - 1);
}

// What training gives: the batch's own statistics normalise, and move the running ones.
void train(NodeContext& n, Value& x, double epsilon) {
  const double momentum = n.real("momentum", 0.9f);
  const uint32_t axes = axes_from(2, n.rank(x)) | 1u;
  Value& mean = n.reduce(ReduceOperation::kAVG, x, axes, true);
  Value& centred = n.binary(Operation::kSUB, x, mean);
  Value& variance =
      n.reduce(ReduceOperation::kAVG, n.binary(Operation::kPROD, centred, centred), axes, true);
  Value& deviation = n.unary(UnaryOperation::kSQRT, n.binary(Operation::kSUM, variance, epsilon));
  Value& scaled = n.binary(Operation::kPROD, n.binary(Operation::kDIV, centred, deviation),
                           parameter(n, 1, x, true));
  n.set_output(0, n.binary(Operation::kSUM, scaled, parameter(n, 2, x, true)));
  const auto moved = [&](int i, Value& current) -> Value& {
    Value& before = n.binary(Operation::kPROD, n.input(i), momentum);
    Value& now = n.cast(n.rearrange(current, {1}), before.type);
    return n.binary(Operation::kSUM, before, n.binary(Operation::kPROD, now, 1 - momentum));
  };
  if (n.output_is_used(1)) n.set_output(1, moved(3, mean));
  if (n.output_is_used(2)) n.set_output(2, moved(4, variance));
}

std::unique_ptr<Normalization> normalization(NodeContext& n, uint32_t axes) {
  auto op = std::make_unique<Normalization>();
  op->axes = axes;
  op->epsilon = n.real("epsilon", 1e-5f);
  return op;
}

}  // namespace

TENON_IMPORT(BatchNormalization, 1, "") {
  n.expect_inputs(5, 5);
  n.ignore("consumed_inputs");
  n.ignore("momentum");
  n.ignore("is_test");
  const double epsilon = n.real("epsilon", 1e-5f);
  const bool spatial = n.flag("spatial", true);
  Value& x = n.input(0);
  const int rank = n.rank(x);
  require(rank >= 2, "its input has {} dimensions; expected at least 2", rank);
  bool constant = spatial;
  for (int i = 1; i < 5; ++i) {
    const Tensor* t = n.constant_input(i);
    constant &= t != nullptr;
    require(n.rank(n.weight(i)) == (spatial ? 1 : rank - 1)
                && (t == nullptr || n.constant_input(1) == nullptr
                    || t->count() == n.constant_input(1)->count()),
            "input {} must have one element per {}", i, spatial ? "channel" : "activation");
  }
  if (n.flag("training_mode", false)) return train(n, x, epsilon);
  n.set_output(
      0, constant ? scale_by_constants(n, x, epsilon) : scale_by_tensors(n, x, epsilon, spatial));
}

TENON_IMPORT(InstanceNormalization, 1, "") {
  n.expect_inputs(3, 3);
  n.ignore("consumed_inputs");
  Value& x = n.input(0);
  const int rank = n.rank(x);
  require(rank >= 3, "its input has {} dimensions; expected at least 3", rank);
  n.set_output(
      0, n.add(normalization(n, axes_from(2, rank)),
               {&x, &along_channels(n, n.input(1), rank), &along_channels(n, n.input(2), rank)}));
}

TENON_IMPORT(LayerNormalization, 17, "") {
  n.expect_inputs(2, 3);
  n.ignore("stash_type");  // statistics are always float32
  Value& x = n.input(0);
  const int rank = n.rank(x), axis = normalized_axis(n.integer("axis", -1), rank);
  auto op = normalization(n, axes_from(axis, rank));
  op->gives_statistics = n.output_is_used(1) || n.output_is_used(2);
  std::vector<Value*> inputs{&x, &n.with_rank(n.input(1), rank)};
  if (n.has_input(2)) inputs.push_back(&n.with_rank(n.input(2), rank));
  const auto& outputs = n.add_node(std::move(op), inputs).outputs;
  for (size_t i = 0; i < outputs.size(); ++i) n.set_output(static_cast<int>(i), *outputs[i]);
}

TENON_IMPORT(RMSNormalization, 23, "") {
  n.expect_inputs(2, 2);
  n.ignore("stash_type");
  Value& x = n.input(0);
  const int rank = n.rank(x), axis = normalized_axis(n.integer("axis", -1), rank);
  auto op = normalization(n, axes_from(axis, rank));
  op->subtracts_mean = false;
  Value& y = n.add(std::move(op), {&x, &n.with_rank(n.input(1), rank)});
  n.set_output(0, n.cast(y, n.input(1).type));
}

TENON_IMPORT(GroupNormalization, 18, "") {
  n.expect_inputs(3, 3);
  n.ignore("stash_type");
  Value& x = n.input(0);
  const int rank = n.rank(x);
  require(rank >= 3, "its input has {} dimensions; expected at least 3", rank);
  auto op = normalization(n, axes_from(2, rank));
  op->groups = n.integer("num_groups");
  if (op->groups == 1) op->axes |= 2u;  // one group is all channels
  n.set_output(0, n.add(std::move(op), {&x, &along_channels(n, n.input(1), rank),
                                        &along_channels(n, n.input(2), rank)}));
}

TENON_IMPORT(MeanVarianceNormalization, 1, "") {
  Value& x = n.input(0);
  const int rank = n.rank(x);
  uint32_t axes = 0;
  if (n.opset() >= 9) {
    auto given = n.integers_in("axes");
    if (!n.has("axes")) given = {0, 2, 3};
    for (int64_t axis : given) axes |= 1u << normalized_axis(axis, rank);
  } else {
    axes = axes_from(2, rank) | 1u | (n.flag("across_channels", false) ? 2u : 0u);
    if (!n.flag("normalize_variance", true)) {
      Value& mean = n.reduce(ReduceOperation::kAVG, x, axes, true);
      n.set_output(0, n.binary(Operation::kSUB, x, mean));
      return;
    }
  }
  auto op = std::make_unique<Normalization>();
  op->axes = axes;
  op->epsilon = 1e-18f;  // the operator adds 1e-9 to the deviation
  n.set_output(0, n.add(std::move(op), {&x}));
}

TENON_IMPORT(LpNormalization, 1, "p of 1 and 2") {
  Value& x = n.widened(n.input(0));
  const int axis = normalized_axis(n.integer("axis", -1), n.rank(x));
  const int64_t p = n.integer("p", 2);
  require(p == 1 || p == 2, "attribute 'p' is {}; expected 1 or 2", p);
  Value& powers = p == 1 ? n.unary(UnaryOperation::kABS, x) : n.binary(Operation::kPROD, x, x);
  Value& sum = n.reduce(ReduceOperation::kSUM, powers, 1u << axis, true);
  Value& norm = p == 1 ? sum : n.unary(UnaryOperation::kSQRT, sum);
  // Where all elements are 0, so is the result.
  Value& divisor = n.select(n.binary(Operation::kEQUAL, norm, 0.0), n.scalar(x, 1), norm);
  n.set_output(0, n.cast(n.binary(Operation::kDIV, x, divisor), n.input(0).type));
}

TENON_IMPORT(LRN, 1, "") {
  Value& x = n.input(0);
  auto op = std::make_unique<Lrn>();
  op->window = n.integer("size");
  op->alpha = n.real("alpha", 1e-4f);
  op->beta = n.real("beta", 0.75f);
  op->bias = n.real("bias", 1);
  n.set_output(0, n.add(std::move(op), {&x}));
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
