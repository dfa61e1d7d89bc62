// Extents of inputs that the optimization profiles fix.
#pragma once

#include <vector>

#include "network/network.h"
#include "plan/compile.h"

namespace tenon {

/// Fixes the extents of inputs for which every profile says one number as minimum and maximum: the
/// network is planned with it, and the engine's shapes have it in place of -1, as TensorRT's.
void fix_extents(Network& network, const std::vector<ProfileRequest>& profiles);

}  // namespace tenon
