// Tensors that are marked for debugging, on their way to the plan.
#pragma once

#include "network/network.h"

namespace tenon {

/// Gives each tensor that is marked for debugging a layer that uses it (DebugTensor), before the
/// others do.
void add_debug_layers(Network& network);

}  // namespace tenon
