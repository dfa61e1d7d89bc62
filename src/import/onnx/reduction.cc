// Reductions along axes.
#include "import/node.h"

namespace tenon {
namespace {

using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;
using Operation = nvinfer1::ElementWiseOperation;

struct Axes {
  uint32_t mask = 0;
  bool keep = true;
};

Axes axes_of(NodeContext& n) {
  n.expect_inputs(1, 2);
  const int rank = n.rank(n.input(0));
  Axes axes;
  axes.keep = n.flag("keepdims", true);
  const bool none_means_none = n.flag("noop_with_empty_axes", false);
  const auto given = n.integers_from(1, "axes").value_or(std::vector<int64_t>{});
  for (int64_t axis : given) axes.mask |= 1u << normalized_axis(axis, rank);
  if (given.empty() && !none_means_none) axes.mask = (1u << rank) - 1;
  return axes;
}

template <ReduceOperation operation> void plain(NodeContext& n) {
  const Axes axes = axes_of(n);
  Value& x = n.input(0);
  if (x.type != DataType::kBOOL) {
    n.set_output(0, n.reduce(operation, x, axes.mask, axes.keep));
    return;
  }
  // Maximum and minimum of these are or and and. Of no elements they are the border of the
  // integers.
  Value& y = n.reduce(operation, n.cast(x, DataType::kINT32), axes.mask, axes.keep);
  n.set_output(0, n.binary(Operation::kGREATER, y, 0.0));
}

Value& sum(NodeContext& n, Value& x, const Axes& axes) {
  return n.reduce(ReduceOperation::kSUM, x, axes.mask, axes.keep);
}

Value& square(NodeContext& n, Value& x) {
  return n.binary(Operation::kPROD, x, x);
}

// The largest integer whose square is not above x. From float32, which may miss it by hundreds, a
// step of Newton's method leads to the root or to the next integer.
Value& integer_root(NodeContext& n, Value& given) {
  Value& x = n.cast(given, DataType::kINT64);
  Value& guess = n.cast(n.unary(UnaryOperation::kSQRT, n.cast(x, DataType::kFLOAT)), x.type);
  Value& twice = n.binary(Operation::kSUM, guess, n.binary(Operation::kDIV, x, guess));
  Value& root = n.binary(Operation::kDIV, twice, 2.0);
  Value& above = n.binary(Operation::kGREATER, square(n, root), x);
  return n.cast(n.binary(Operation::kSUB, root, n.cast(above, x.type)), given.type);
}

}  // namespace

TENON_IMPORT_AS(ReduceSum, 1, "", plain<ReduceOperation::kSUM>);
TENON_IMPORT_AS(ReduceMean, 1, "", plain<ReduceOperation::kAVG>);
TENON_IMPORT_AS(ReduceMax, 1, "", plain<ReduceOperation::kMAX>);
TENON_IMPORT_AS(ReduceMin, 1, "", plain<ReduceOperation::kMIN>);
TENON_IMPORT_AS(ReduceProd, 1, "", plain<ReduceOperation::kPROD>);

TENON_IMPORT(ReduceL1, 1, "") {
  const Axes axes = axes_of(n);
  Value& x = n.input(0);
  n.set_output(0, n.cast_like(sum(n, n.unary(UnaryOperation::kABS, n.widened(x)), axes), x));
}
TENON_IMPORT(ReduceL2, 1, "") {
  const Axes axes = axes_of(n);
  Value& x = n.input(0);
  Value& squares = sum(n, square(n, n.widened(x)), axes);
  Value& root = n.is_real(x) ? n.unary(UnaryOperation::kSQRT, squares) : integer_root(n, squares);
  n.set_output(0, n.cast_like(root, x));
}
TENON_IMPORT(ReduceSumSquare, 1, "") {
  const Axes axes = axes_of(n);
  Value& x = n.input(0);
  n.set_output(0, n.cast_like(sum(n, square(n, n.widened(x)), axes), x));
}
TENON_IMPORT(ReduceLogSum, 1, "") {
  const Axes axes = axes_of(n);
  // Logarithms of integers go through float32 and come back.
  Value& x = n.input(0);
  Value& total = n.as_real(sum(n, n.widened(x), axes));
  n.set_output(0, n.cast_like(n.unary(UnaryOperation::kLOG, total), x));
}
TENON_IMPORT(ReduceLogSumExp, 1, "") {
  // Relative to the largest element, so that exp cannot overflow. An infinite one is taken as 0.
  const Axes axes = axes_of(n);
  Value& x = n.as_real(n.input(0));
  Value& max = n.reduce(ReduceOperation::kMAX, x, axes.mask, true);
  Value& infinite = n.unary(UnaryOperation::kISINF, max);
  Value& base = n.select(infinite, n.scalar(max, 0), max);
  Value& terms = n.unary(UnaryOperation::kEXP, n.binary(Operation::kSUB, x, base));
  Value& logarithm =
      n.unary(UnaryOperation::kLOG, n.reduce(ReduceOperation::kSUM, terms, axes.mask, true));
  Value& y = n.binary(Operation::kSUM, logarithm, base);
  std::vector<int> kept;
  for (int i = 0; i < n.rank(y); ++i)
    if (axes.keep || (axes.mask >> i & 1u) == 0) kept.push_back(i);
  n.set_output(0, n.cast_like(n.rearrange(y, kept), n.input(0)));
}

}  // namespace tenon
