// A plan built once more, from the network that it carries.
#pragma once

#include "backend/target.h"
#include "base/log.h"
#include "network/network.h"
#include "plan/plan.h"

namespace tenon {

/// Builds as `plan` was built, with the same profiles and settings. Kernels that were timed for it
/// on a machine like this one are taken again without timing.
/// @param network a copy of PlanSource::network, which may have other weights; it is optimized in
///     place.
/// @param measure layers whose kernels were not timed then may be timed now.
/// Throws Error, naming the layer, on anything that cannot be built.
Plan rebuild(const Plan& plan, Network& network, const Target& target, const Log& log,
             bool measure);

}  // namespace tenon
