// Losses, as training scripts export them.
#include "import/node.h"
#include "ops/gather.h"

namespace tenon {
namespace {

using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;
using Operation = nvinfer1::ElementWiseOperation;

uint32_t all_axes(int rank) {
  return (1u << rank) - 1;
}

Value& gather(NodeContext& n, Value& data, Value& indices, nvinfer1::GatherMode mode, int axis) {
  auto op = std::make_unique<Gather>();
  op->mode = mode;
  op->axis = axis;
  return n.add(std::move(op), {&data, &indices});
}

// The loss of log probabilities (N, C, …) for classes (N, …); input `weights` may hold one weight
// per class.
Value& loss_of(NodeContext& n, Value& logarithms, Value& classes, int weights) {
  const std::string reduction = n.text("reduction", "mean");
  require(reduction == "none" || reduction == "sum" || reduction == "mean",
          "attribute 'reduction' is '{}'; expected none, sum or mean", reduction);
  require(n.rank(logarithms) >= 2 && n.rank(classes) == n.rank(logarithms) - 1,
          "its classes have {} dimensions; expected one less than the {} of its input",
          n.rank(classes), n.rank(logarithms));
  // Ignored elements read class 0, and weigh nothing.
  const bool ignores = n.has("ignore_index");
  Value* valid = nullptr;
  Value* safe = &classes;
  if (ignores) {
    Value& ignored =
        n.binary(Operation::kEQUAL, classes, static_cast<double>(n.integer("ignore_index")));
    valid = &n.unary(UnaryOperation::kNOT, ignored);
    safe = &n.select(*valid, classes, n.scalar(classes, 0));
  }
  std::vector<int> with_axis, without_axis;
  for (int i = 0; i < n.rank(classes); ++i) {
    if (i == 1) with_axis.push_back(-1);
    with_axis.push_back(i);
    without_axis.push_back(i == 0 ? 0 : i + 1);
  }
  if (n.rank(classes) == 1) with_axis.push_back(-1);
  Value& picked =
      gather(n, logarithms, n.rearrange(*safe, with_axis), nvinfer1::GatherMode::kELEMENT, 1);
  Value* loss = &n.unary(UnaryOperation::kNEG, n.rearrange(picked, without_axis));
  Value* weight = nullptr;
  if (n.has_input(weights))
    weight =
        &gather(n, n.cast(n.input(weights), loss->type), *safe, nvinfer1::GatherMode::kDEFAULT, 0);
  if (ignores) {
    Value& one = weight != nullptr ? *weight : n.scalar(*loss, 1);
    weight = &n.select(*valid, one, n.scalar(*loss, 0));
  }
  if (weight != nullptr) loss = &n.binary(Operation::kPROD, *loss, *weight);
  const uint32_t axes = all_axes(n.rank(*loss));
  if (reduction == "none") return *loss;
  if (reduction == "sum") return n.reduce(ReduceOperation::kSUM, *loss, axes, false);
  if (weight == nullptr) return n.reduce(ReduceOperation::kAVG, *loss, axes, false);
  return n.binary(Operation::kDIV, n.reduce(ReduceOperation::kSUM, *loss, axes, false),
                  n.reduce(ReduceOperation::kSUM, *weight, axes, false));
}

}  // namespace

TENON_IMPORT(NegativeLogLikelihoodLoss, 12, "") {
  n.expect_inputs(2, 3);
  n.set_output(0, loss_of(n, n.input(0), n.input(1), 2));
}

TENON_IMPORT(SoftmaxCrossEntropyLoss, 12, "") {
  n.expect_inputs(2, 3);
  Value& scores = n.input(0);
  require(n.rank(scores) >= 2, "its scores have {} dimensions; expected at least 2",
          n.rank(scores));
  Value& centred =
      n.binary(Operation::kSUB, scores, n.reduce(ReduceOperation::kMAX, scores, 2, true));
  Value& sum = n.reduce(ReduceOperation::kSUM, n.unary(UnaryOperation::kEXP, centred), 2, true);
  Value& logarithms = n.binary(Operation::kSUB, centred, n.unary(UnaryOperation::kLOG, sum));
  n.set_output(0, loss_of(n, logarithms, n.input(1), 2));
  n.set_output(1, logarithms);
}

}  // namespace tenon
