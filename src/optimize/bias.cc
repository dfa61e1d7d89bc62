#include "ops/elementwise.h"
#include "ops/matrix_multiply.h"
#include "optimize/match.h"
#include "optimize/passes.h"

namespace tenon {
namespace {

// The constant that `sum` adds to `product`: one row, in the product's rank.
Value* added_row(const Node& sum, const Value& product) {
  const auto* op = sum.as<ElementWise>();
  if (op == nullptr || op->operation != nvinfer1::ElementWiseOperation::kSUM) return nullptr;
  if (!is_plain(sum) || !is_float_only(sum)) return nullptr;
  if (sum.outputs[0]->dims != product.dims || product.dims.empty()) return nullptr;
  Value* other = sum.inputs[sum.inputs[0] == &product ? 1 : 0];
  const Tensor* constant = float_constant(other);
  const Dim columns = product.dims.back();
  if (constant == nullptr || !columns->is_integer_constant()) return nullptr;
  const Shape& shape = constant->shape();
  return shape.back() == columns->value.integer && shape.back() == constant->count() ? other
                                                                                     : nullptr;
}

}  // namespace

std::optional<Patch> bias(const Network& network, const Target&) {
  const Uses uses(network);
  Patch patch;
  for (const auto& node : network.nodes()) {
    const auto* op = node->as<MatrixMultiply>();
    if (op == nullptr || !op->epilogue.empty() || !is_plain(*node)) continue;
    if (node->inputs.size() > 2 && node->inputs[2] != nullptr) continue;
    Node* sum = uses.only(*node->outputs[0]);
    if (sum == nullptr) continue;
    Value* row = added_row(*sum, *node->outputs[0]);
    if (row == nullptr) continue;
    patch.fuse(node->op->clone(), {node->inputs[0], node->inputs[1], row}, {node.get(), sum});
  }
  if (patch.empty()) return std::nullopt;
  return patch;
}

}  // namespace tenon
