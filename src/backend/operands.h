// Whether a layer's operands are those that its kind has, before a kernel reads any of them.
#pragma once

#include "backend/target.h"

namespace tenon {

/// Throws unless inputs and outputs are of the number, and inputs of the types, that the layer kind
/// has: what Op::infer says before it looks at extents. Plugins are left to themselves.
void check_operands(const KernelRequest& request);

}  // namespace tenon
