// A plan built once more, from the network that it carries.
#pragma once

#include "backend/target.h"
#include "base/log.h"
#include "network/network.h"
#include "plan/plan.h"

namespace tenon {

enum class KernelsOfRebuild : uint8_t {
  kOfPlan,    // those that the plan's layers have; of other layers, those first in order
  kMeasured,  // the fastest on this machine
};

/// Builds as `plan` was built, with the same profiles and settings.
/// @param network a copy of PlanSource::network, which may have other weights; it is optimized in
///     place.
/// Throws Error, naming the layer, on anything that cannot be built.
Plan rebuild(const Plan& plan, Network& network, const Target& target, const Log& log,
             KernelsOfRebuild kernels);

}  // namespace tenon
