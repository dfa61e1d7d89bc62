// Activations come before the shuffle of what a convolution or product gives, which can then take
// them in.
#include "ops/activation.h"
#include "ops/convolution.h"
#include "ops/deconvolution.h"
#include "ops/matrix_multiply.h"
#include "ops/shuffle.h"
#include "ops/unary.h"
#include "optimize/match.h"
#include "optimize/passes.h"

namespace tenon {
namespace {

bool takes_epilogues(const Node* node) {
  return node != nullptr
         && (node->as<Convolution>() != nullptr || node->as<Deconvolution>() != nullptr
             || node->as<MatrixMultiply>() != nullptr);
}

bool is_activation(const Node& node) {
  return (node.as<Activation>() != nullptr || node.as<Unary>() != nullptr) && is_plain(node)
         && is_float_only(node);
}

}  // namespace

std::optional<Patch> shuffles_past_activations(const Network& network, const Target&) {
  const Uses uses(network);
  Patch patch;
  for (const auto& node : network.nodes()) {
    if (node->as<Shuffle>() == nullptr || !is_plain(*node) || is_on_host(*node)
        || !takes_epilogues(node->inputs[0]->producer) || uses.only(*node->inputs[0]) == nullptr)
      continue;
    Node* activation = uses.only(*node->outputs[0]);
    if (activation == nullptr || !is_activation(*activation)) continue;
    std::vector<Value*> inputs = node->inputs;
    inputs[0] = node->outputs[0];
    patch.fuse(activation->op->clone(), {node->inputs[0]}, {node.get()});
    patch.fuse(node->op->clone(), std::move(inputs), {activation});
  }
  if (patch.empty()) return std::nullopt;
  return patch;
}

}  // namespace tenon
