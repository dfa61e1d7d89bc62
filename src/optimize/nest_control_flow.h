// Loops and conditionals that lie flat in a network become layers with bodies.
#pragma once

#include "network/network.h"

namespace tenon {

/// TensorRT's ILoop and IIfConditional are boundary layers (ops/flow_boundary.h) around layers of
/// the same network. Here each becomes one Loop or Conditional, whose bodies take what depends on
/// the boundary's inputs; what does not stays outside and is computed once. The network's shapes
/// are known before and after; it has no boundary layers then. Throws, naming the loop or
/// conditional and the layer, when it is not complete or something leaves it other than by its
/// outputs.
void nest_control_flow(Network& network);

}  // namespace tenon
