// Network in, equivalent and quicker network out: passes run to a fixed point.
#pragma once

#include <functional>

#include "base/log.h"
#include "network/network.h"
#include "target/target.h"

namespace tenon {

struct OptimizeOptions {
  Log log;
  /// Told after each pass; returns false to cancel, which throws.
  std::function<bool(const char* pass)> progress;
};

/// Rewrites `network` for `target`: constants folded, dead layers removed, batch norms folded into
/// convolutions, epilogues fused, pointwise chains joined. Outputs keep their names.
void optimize(Network& network, const Target& target, const OptimizeOptions& options);

}  // namespace tenon
