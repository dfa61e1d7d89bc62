#include "optimize/debug_layers.h"

#include <algorithm>
#include <unordered_map>

#include "ops/debug_tensor.h"

namespace tenon {

void add_debug_layers(Network& network) {
  std::vector<Value*> marked;
  for (const auto& value : network.values())
    if (std::exchange(value->is_debug, false)) marked.push_back(value.get());
  if (marked.empty()) return;
  const auto users = network.users();
  std::unordered_map<const Node*, size_t> positions;
  for (const auto& node : network.nodes()) positions.emplace(node.get(), positions.size());
  std::unordered_map<const Node*, const Node*> before;
  for (Value* value : marked) {
    auto op = std::make_unique<DebugTensor>();
    op->tensor = value->name;
    const Node& layer =
        network.add_node(std::move(op), {value}, fmt::format("Debug {}", value->name));
    const auto& others = users[static_cast<size_t>(value->id)];
    const auto first = std::min_element(
        others.begin(), others.end(),
        [&](const Node* a, const Node* b) { return positions.at(a) < positions.at(b); });
    if (first != others.end()) before.emplace(&layer, *first);
  }
  network.move_nodes(before);
  network.touch();
}

}  // namespace tenon
