// Matrix products.
#include <cmath>

#include "import/node.h"
#include "ops/matrix_multiply.h"

namespace tenon {
namespace {

using nvinfer1::MatrixOperation;
using Operation = nvinfer1::ElementWiseOperation;

MatrixOperation transposed(bool yes) {
  return yes ? MatrixOperation::kTRANSPOSE : MatrixOperation::kNONE;
}

Value& scaled(NodeContext& n, Value& x, float factor, const char* attribute) {
  if (factor == 1) return x;
  require(is_float(x.type) || factor == std::trunc(factor),
          "attribute '{}' is {}; products of integers are scaled by whole numbers only", attribute,
          factor);
  return n.binary(Operation::kPROD, x, factor);
}

}  // namespace

TENON_IMPORT(MatMul, 1, "") {
  n.expect_inputs(2, 2);
  Value *a = &n.input(0), *b = &n.input(1);
  require(n.rank(*a) > 0 && n.rank(*b) > 0,
          "an operand is a scalar; expected at least one dimension");
  auto op = std::make_unique<MatrixMultiply>();
  const bool vector_a = n.rank(*a) == 1, vector_b = n.rank(*b) == 1;
  if (vector_a) op->operation_a = MatrixOperation::kVECTOR;
  if (vector_b) op->operation_b = MatrixOperation::kVECTOR;
  // A vector counts as a matrix without one of its axes.
  const int rank = std::max(n.rank(*a) + vector_a, n.rank(*b) + vector_b);
  a = &n.with_rank(*a, rank - vector_a);
  b = &n.with_rank(*b, rank - vector_b);
  n.set_output(0, n.add(std::move(op), {a, b}));
}

TENON_IMPORT(Gemm, 1, "") {
  n.expect_inputs(2, 3);
  const float alpha = n.real("alpha", 1), beta = n.real("beta", 1);
  auto op = std::make_unique<MatrixMultiply>();
  op->operation_a = transposed(n.flag("transA", false));
  op->operation_b = transposed(n.flag("transB", false));
  n.ignore("broadcast");
  Value *a = &n.input(0), *b = &n.input(1);
  require(n.rank(*a) == 2 && n.rank(*b) == 2, "its operands have {} and {} dimensions; expected 2",
          n.rank(*a), n.rank(*b));
  a = &scaled(n, *a, alpha, "alpha");
  if (!n.has_input(2) || beta == 0) {
    n.set_output(0, n.add(std::move(op), {a, b}));
    return;
  }
  Value* c = &n.input(2);
  require(n.rank(*c) <= 2, "its bias has {} dimensions; expected at most 2", n.rank(*c));
  c = &scaled(n, *c, beta, "beta");
  n.set_output(0, n.add(std::move(op), {a, b, &n.with_rank(*c, 2)}));
}

}  // namespace tenon
