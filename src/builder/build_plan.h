// Network in, plan out: optimisation, then planning.
#pragma once

#include "plan/compile.h"

namespace tenon {

/// Optimises the network in place, then plans it. Throws Error, naming the layer, on anything that
/// cannot be built, and on cancellation.
Plan build_plan(Network& network, const Target& target, const BuildOptions& options);

}  // namespace tenon
