// Network in, equivalent and faster network out: passes run to a fixed point.
#pragma once

#include <functional>

#include "backend/target.h"
#include "base/log.h"
#include "network/network.h"
#include "optimize/precision.h"

namespace tenon {

struct OptimizeOptions {
  Log log;
  Precision precision;
  /// Told after each pass; returns false to cancel, which throws.
  std::function<bool(const char* pass)> progress;
};

/// Rewrites `network` for `target`: constants folded, dead layers removed, batch norms folded into
/// convolutions, epilogues fused, pointwise chains joined. All that happens in the network's types;
/// then layers get those that `options.precision` asks for, so that chains that were joined are
/// computed in float32 all the same. Outputs keep their names.
void optimize(Network& network, const Target& target, const OptimizeOptions& options);

/// The part of optimize() after which layers are to be quantized: constants are folded, dead layers
/// removed, batch norms folded into convolutions, and neighbours become one where that layer is of
/// one kind. No epilogue is fused yet. Tensors that are still there keep their names.
void simplify(Network& network, const Target& target, const OptimizeOptions& options);

}  // namespace tenon
