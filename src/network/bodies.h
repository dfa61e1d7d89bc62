// Networks inside networks: the bodies of loops and conditionals.
#pragma once

#include "network/control_flow.h"

namespace tenon {

/// Calls `visit` with the network, then with its bodies, in the order of their layers, and theirs.
template <class AnyNetwork, class Visit>
void for_each_network(AnyNetwork& network, const Visit& visit) {
  visit(network);
  for (const auto& node : network.nodes())
    if (const ControlFlow* layer = control_flow_of(*node))
      for (const auto& body : layer->bodies) for_each_network<AnyNetwork>(*body, visit);
}

}  // namespace tenon
