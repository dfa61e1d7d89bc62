#include "ops/matrix_multiply.h"
#include "optimize/match.h"
#include "optimize/passes.h"

namespace tenon {
namespace {

// The constant that `sum` adds to `product`: one row, in the product's rank.
Value* added_row(const Node& sum, const Value& product) {
  Value* const addend = addend_of(sum, product);
  if (addend == nullptr || !is_float_only(sum)) return nullptr;
  const Tensor* constant = float_constant(addend);
  return constant != nullptr && is_row_of(*constant, product) ? addend : nullptr;
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
