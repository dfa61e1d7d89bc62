// A copy of a network to optimise, while the original stays as its owner made it.
#pragma once

#include "network/network.h"

namespace tenon {

/// Layers, inputs, outputs, names and what callers asked for; constants share their data. Shapes
/// are inferred afresh in the copy.
std::unique_ptr<Network> clone(const Network& network);

}  // namespace tenon
