// What the files that implement INetworkDefinition's add functions share.
#pragma once

#include "api/layer.h"
#include "api/network_definition.h"

namespace tenon {

/// Adds a layer of `op` (an op, or a unique_ptr to one) and returns its facade. Trailing null
/// inputs are left out.
template <class Handle, class Kind>
Handle* NetworkDefinition::add(Kind op, std::vector<Value*> inputs) {
  std::unique_ptr<Op> owned;
  if constexpr (std::is_same_v<Kind, std::unique_ptr<Op>>)
    owned = std::move(op);
  else
    owned = std::make_unique<Kind>(std::move(op));
  while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
  Node& node = network_->add_node(std::move(owned), std::move(inputs));
  return static_cast<Handle*>(&layer_view(node).handle());
}

}  // namespace tenon
