#include "optimize/choose_branches.h"

#include <algorithm>

#include "network/control_flow.h"
#include "network/splice.h"
#include "ops/assertion.h"
#include "ops/conditional.h"
#include "ops/unary.h"

namespace tenon {
namespace {

std::optional<bool> known_condition(const Value& condition) {
  const auto constant = condition.constant ? condition.constant : constant_content(condition);
  if (!constant || constant->count() != 1) return std::nullopt;
  return constant->numbers()[0] != 0;
}

void require_false(Network& network, const Node& layer) {
  const auto& conditional = *layer.as<Conditional>();
  auto opposite = std::make_unique<Unary>();
  opposite->operation = nvinfer1::UnaryOperation::kNOT;
  Node& is_false =
      network.add_node(std::move(opposite), {layer.inputs[0]}, layer.name + " [is false]");
  auto op = std::make_unique<Assertion>();
  op->message = conditional.refusal;
  network.infer(is_false);
  network.infer(
      network.add_node(std::move(op), {is_false.outputs[0]}, layer.name + " [assertion]"));
}

// The layer to replace next; null for none.
Node* next_choice(const Network& network) {
  const auto& nodes = network.nodes();
  const auto it = std::find_if(nodes.begin(), nodes.end(), [](const auto& node) {
    const auto* layer = node->template as<Conditional>();
    return layer != nullptr && !layer->bodies.empty()
           && (layer->is_decided_at_build() || known_condition(*node->inputs[0]));
  });
  return it == nodes.end() ? nullptr : it->get();
}

}  // namespace

void choose_branches(Network& network) {
  bool changed = false;
  while (Node* node = next_choice(network)) {
    const auto condition = known_condition(*node->inputs[0]);
    if (!condition) require_false(network, *node);
    const std::shared_ptr<Network> body =
        node->as<Conditional>()->bodies[condition.value_or(false) ? 0 : 1];
    const auto here = splice(*body, std::span(node->inputs).subspan(1), network);
    std::unordered_map<Value*, Value*> replacements;
    for (size_t i = 0; i < node->outputs.size(); ++i)
      replacements[node->outputs[i]] = here.at(body->outputs()[i]);
    network.replace_uses(replacements);
    network.remove_nodes({node});
    changed = true;
  }
  if (changed) network.infer();
}

}  // namespace tenon
