// Activations come before the shuffle of what a convolution or product gives, which can then take
// them in.
#include <utility>

#include "ops/activation.h"
#include "ops/shuffle.h"
#include "ops/unary.h"
#include "optimize/match.h"
#include "optimize/passes.h"
#include "optimize/program_builder.h"

namespace tenon {
namespace {

bool is_activation(const Node& node) {
  return (node.as<Activation>() != nullptr || node.as<Unary>() != nullptr) && is_pointwise(node);
}

// Whether the layer before the shuffle takes the one behind it in.
bool takes(const Target& target, const Node& shuffle, const Node& activation) {
  const Node* producer = shuffle.inputs[0]->producer;
  const PointwiseProgram* epilogue =
      producer == nullptr ? nullptr : epilogue_of(std::as_const(*producer->op));
  if (epilogue == nullptr) return false;
  std::vector<Value*> operands;
  if (!epilogue->empty())
    operands.assign(producer->inputs.end() - (epilogue->inputs - 1), producer->inputs.end());
  ProgramBuilder builder(*shuffle.outputs[0], *epilogue, std::move(operands));
  builder.append(activation);
  return target.fuses(*producer->op, builder.program());
}

}  // namespace

std::optional<Patch> shuffles_past_activations(const Network& network, const Target& target) {
  const Uses uses(network);
  Patch patch;
  for (const auto& node : network.nodes()) {
    if (node->as<Shuffle>() == nullptr || !is_plain(*node) || is_on_host(*node)
        || uses.only(*node->inputs[0]) == nullptr)
      continue;
    Node* activation = uses.only(*node->outputs[0]);
    if (activation == nullptr || !is_activation(*activation) || !takes(target, *node, *activation))
      continue;
    std::vector<Value*> inputs = node->inputs;
    inputs[0] = node->outputs[0];
    patch.fuse(activation->op->clone(), {node->inputs[0]}, {node.get()});
    patch.fuse(node->op->clone(), std::move(inputs), {activation});
  }
  if (patch.empty()) return std::nullopt;
  return patch;
}

}  // namespace tenon
