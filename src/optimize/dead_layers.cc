#include "optimize/passes.h"

namespace tenon {

std::optional<Patch> dead_layers(const Network& network, const Target&) {
  std::unordered_set<const Node*> needed;
  std::vector<const Value*> open(network.outputs().begin(), network.outputs().end());
  // Layers without outputs are there for what they check.
  for (const auto& node : network.nodes())
    if (node->outputs.empty()) {
      needed.insert(node.get());
      open.insert(open.end(), node->inputs.begin(), node->inputs.end());
    }
  while (!open.empty()) {
    const Value* value = open.back();
    open.pop_back();
    if (value == nullptr || value->producer == nullptr) continue;
    if (!needed.insert(value->producer).second) continue;
    open.insert(open.end(), value->producer->inputs.begin(), value->producer->inputs.end());
  }
  if (needed.size() == network.nodes().size()) return std::nullopt;
  Patch patch;
  for (const auto& node : network.nodes())
    if (!needed.contains(node.get())) patch.remove(*node);
  return patch;
}

}  // namespace tenon
