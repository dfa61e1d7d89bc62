// Gives each layer its float type: what the caller set, and 16 bits where they are faster.
#pragma once

#include "base/log.h"
#include "network/network.h"
#include "network/precision.h"

namespace tenon {

/// Gives layers of float32 the types that `precision` asks for, with casts between layers of
/// different types, and converts their weights. Inputs and outputs keep their types, but for
/// outputs that the caller gave the 16-bit one. Layers that 16 bits would spoil stay in float32,
/// and `log` is told why. What was set for layers is then done with, and forgotten. Bodies of loops
/// and conditionals are left as they are: they are networks of their own.
///
/// Throws, naming the layer, when kObey cannot be followed.
/// @pre shapes and types are known, and control flow is nested.
void apply_precision(Network& network, const Precision& precision, const Log& log);

}  // namespace tenon
